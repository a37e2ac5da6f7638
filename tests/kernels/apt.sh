# apt of another Debian suite in a root of its own below $cache/apt: the host's packages and lists are not touched.
# Sourced by the scripts here, which set $cache.
# shellcheck shell=sh disable=SC2154

suite_root() {
	root=$cache/apt/$1
	[ ! -f "$root/etc/apt/sources.list" ] || return 0
	mkdir -p "$root/etc/apt/apt.conf.d" "$root/etc/apt/preferences.d" "$root/var/lib/apt/lists/partial" \
		"$root/var/cache/apt/archives/partial" "$root/var/lib/dpkg"
	: >"$root/var/lib/dpkg/status"
	# The mirrors are the host's own, whichever form its sources have.
	uris=$(cat /etc/apt/sources.list.d/*.sources /etc/apt/sources.list 2>/dev/null | grep -v '^#' | grep -oE 'https?://[^ ]+')
	{
		echo "deb [check-valid-until=no] $(echo "$uris" | grep -v security | head -n 1) $1 main"
		case $1 in
		*-backports) ;;
		*) echo "deb [check-valid-until=no] $(echo "$uris" | grep security | head -n 1) $1-security main" ;;
		esac
	} >"$root/etc/apt/sources.list.new"
	mv "$root/etc/apt/sources.list.new" "$root/etc/apt/sources.list"
}

# suite SUITE get|cache ARG...
suite() {
	suite_root "$1"
	root=$cache/apt/$1
	tool=$2
	shift 2
	"apt-$tool" -o Dir="$root" -o Dir::State::status="$root/var/lib/dpkg/status" \
		-o Dir::Etc::trustedparts=/etc/apt/trusted.gpg.d -o APT::Architecture=amd64 -o APT::Architectures=amd64 \
		-o Acquire::Languages=none -o APT::Sandbox::User=root -qq "$@"
}
