# For every tests/e2e/*.t: TAP by hand, a state directory of its own, and what is cleaned up at the end.
# shellcheck shell=sh disable=SC2034

bin=${VITRINE_BIN:?the directory of the built programs}
tests=${VITRINE_TESTS:?the directory of the built test programs}
here=$(cd "$(dirname "$0")" && pwd)
work=$(mktemp -d /tmp/vitrine-test.XXXXXX)
chmod 755 "$work"
state=$work/state
count=0
failed=0

finish() {
	status=$?
	# Never into what is mounted there, whatever a test left.
	rm -rf --one-file-system "$work"
	[ "$status" -eq 0 ] || exit "$status"
	exit "$failed"
}
trap finish EXIT

# ok STATUS NAME: one result. What stands in $work/log is shown when it failed.
ok() {
	count=$((count + 1))
	if [ "$1" -eq 0 ]; then
		echo "ok $count - $2"
	else
		failed=1
		echo "not ok $count - $2"
		[ ! -s "$work/log" ] || sed 's/^/# /' "$work/log" | head -60
	fi
	: >"$work/log"
}

# check NAME COMMAND...: the command has to succeed.
check() {
	name=$1
	shift
	if "$@" >"$work/log" 2>&1; then ok 0 "$name"; else ok 1 "$name"; fi
}

# is NAME WANT HAVE
is() {
	if [ "$2" = "$3" ]; then
		ok 0 "$1"
	else
		# Before what the log has: why a status is not the one that it should be stands there.
		touch "$work/log"
		{ printf 'want: %s\nhave: %s\n' "$2" "$3"; cat "$work/log"; } >"$work/log.new"
		mv "$work/log.new" "$work/log"
		ok 1 "$1"
	fi
}

# wait_for COMMAND...: until it succeeds, thirty seconds at most.
wait_for() {
	tries=0
	until "$@" >/dev/null 2>&1; do
		tries=$((tries + 1))
		[ $tries -lt 300 ] || return 1
		sleep 0.1
	done
}

skip_all() {
	echo "1..0 # SKIP $1"
	exit 0
}

done_testing() {
	echo "1..$count"
}

need_root() {
	[ "$(id -u)" -eq 0 ] || skip_all "needs root"
}

run() {
	"$bin/vitrine" run --state "$state" "$@"
}

replay() {
	"$bin/vitrine" replay --state "$state" --json last "$@"
}

# A workspace that belongs to uid 1000, with the acts program in it.
make_workspace() {
	workspace=$work/workspace
	mkdir "$workspace"
	cp "$tests/acts" "$workspace/acts"
	chown -R 1000:1000 "$workspace"
}

# What a session's counts have to say: per class produced = journaled + lost, and nothing lost.
counts_add_up() {
	replay --kind session.end | python3 -c '
import json, sys
end = json.loads(sys.stdin.readline())
bad = [n for n, c in end["counts"].items() if c["produced"] != c["journaled"] + c["lost"]]
lost = [n for n, c in end["counts"].items() if c["lost"] and "--lossless" in sys.argv]
print(end["counts"])
sys.exit(1 if bad or lost else 0)' "$@"
}

# left ID: what a session leaves: its cgroups in any hierarchy, and its processes. One that dies may take a moment.
left() {
	for _ in 1 2 3 4 5 6 7 8 9 10; do
		found=$(
			find /sys/fs/cgroup -type d -name "$1" 2>/dev/null
			grep -l "$1" /proc/[0-9]*/cgroup 2>/dev/null | while read -r file; do
				! grep -q '^State:[[:space:]]*[^ZX]' "${file%cgroup}status" 2>/dev/null || echo "$file" "$(cat "${file%cgroup}comm")"
			done
		)
		[ -n "$found" ] || return 0
		sleep 0.1
	done
	echo "$found"
}
