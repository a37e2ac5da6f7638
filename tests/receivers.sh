#!/bin/sh
# receivers.sh DIR PACKAGE...: receivers that the end-to-end tests send to. One that is not installed is unpacked below
# DIR/PACKAGE with the libraries that it lacks: nothing is installed, no service begins, and those that exclude one
# another as packages stand side by side. What cannot be had is left out, and its test says so.
set -eu
dir=$1
shift
mkdir -p "$dir"

unpack() {
	target=$dir/$1
	rm -rf "$target.new"
	mkdir -p "$target.new/debs"
	packages=$(apt-get -s install --no-install-recommends "$1" 2>/dev/null | awk '/^Inst/ {print $2}')
	[ -n "$packages" ] || return 1
	# shellcheck disable=SC2086
	(cd "$target.new/debs" && apt-get download -qq $packages >/dev/null 2>&1) || return 1
	for deb in "$target.new"/debs/*.deb; do dpkg-deb -x "$deb" "$target.new" || return 1; done
	rm -rf "$target.new/debs" "$target"
	mv "$target.new" "$target"
}

for package in "$@"; do
	if [ -d "$dir/$package" ] || [ "$(dpkg-query -W -f '${db:Status-Status}' "$package" 2>/dev/null)" = installed ]; then
		continue
	fi
	unpack "$package" || echo "no $package: its test will be skipped" >&2
done
