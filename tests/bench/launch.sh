#!/bin/sh
# launch.sh BIN TESTS [ROUNDS]: from the start of `vitrine run -- /bin/true` to its end, when the verdict is told and the
# ground is cleaned, through a running daemon; cold and from the pool, with 1, 50 and 500 sessions alive; beside fork+exec,
# bubblewrap, crun and runc, by turns. Then the phases of a session, and another command in a session that is alive, beside
# what enters a container that is. Run by `make bench-launch`, as root.
set -eu
bin=$1
tests=$2
rounds=${3:-40}
work=$(mktemp -d /tmp/vitrine-launch.XXXXXX)
daemon=
holders=
containers=
finish() {
	for runtime in $containers; do
		"$runtime" delete --force "vitrine-bench-alive-$runtime" >/dev/null 2>&1 || :
	done
	# shellcheck disable=SC2086
	[ -z "$holders" ] || kill $holders 2>/dev/null || :
	[ -z "$daemon" ] || { kill "$daemon"; wait "$daemon"; } 2>/dev/null || :
	rm -rf --one-file-system "$work"
}
trap finish EXIT

# start_daemon OPTION...
start_daemon() {
	: >"$work/log"
	"$bin/vitrined" --state "$work/state" --socket "$work/socket" --ring-bytes 4194304 --log-level debug "$@" 2>"$work/log" &
	daemon=$!
	until [ -S "$work/socket" ]; do
		kill -0 "$daemon" 2>/dev/null || { cat "$work/log" >&2; exit 1; }
		sleep 0.1
	done
}

stop_daemon() {
	# shellcheck disable=SC2086
	[ -z "$holders" ] || kill $holders
	holders=
	kill "$daemon"
	wait "$daemon" || :
	daemon=
}

# hold N: until so many sessions are alive beside.
hold() {
	alive=$(echo "$holders" | wc -w)
	while [ "$alive" -lt "$1" ]; do
		"$bin/vitrine" run --quiet --socket "$work/socket" -- sleep 100000 </dev/null >/dev/null 2>&1 &
		holders="$holders $!"
		alive=$((alive + 1))
	done
	until [ "$(grep -c ': started for' "$work/log")" -ge "$((alive + started))" ]; do
		sleep 0.1
	done
}

# All programs are measured in a mount namespace of the bench's own, because a runtime of OCI wants its root to be a mount, and
# crun refuses a host that has cgroups of both versions: there the host's root is mounted once more, read-only, and not cgroup2.
cat >"$work/inside" <<-INSIDE
	set -e
	mount --make-rprivate /
	mount --bind / "$work/root"
	mount -o remount,bind,ro "$work/root"
	[ ! -d /sys/fs/cgroup/unified ] || umount /sys/fs/cgroup/unified
	exec "\$@"
INSIDE
mkdir "$work/root"
inside() {
	unshare --mount sh "$work/inside" "$@"
}

# An OCI bundle of the host's root, for the program $1 to run /bin/true in.
bundle() {
	mkdir -p "$work/$1"
	(cd "$work/$1" && "$1" spec && python3 - config.json "$work/root" <<-'PY'
		import json, sys
		c = json.load(open(sys.argv[1]))
		c["process"]["args"], c["process"]["terminal"] = ["/bin/true"], False
		c["root"] = {"path": sys.argv[2], "readonly": True}
		json.dump(c, open(sys.argv[1], "w"))
	PY
	)
	inside "$1" run --bundle "$work/$1" "vitrine-bench-$1" >/dev/null 2>"$work/why" </dev/null ||
		{ echo "$1: not measured ($(tail -n 1 "$work/why" | cut -c1-90))"; return 1; }
}

# One that stays alive, for other commands to come into.
keep() {
	mkdir "$work/alive-$1"
	sed 's|"/bin/true"|"/bin/sleep", "100000"|' "$work/$1/config.json" >"$work/alive-$1/config.json"
	containers="$containers $1"
	inside "$1" run --detach --bundle "$work/alive-$1" "vitrine-bench-alive-$1" >/dev/null 2>"$work/why" </dev/null
}

# compare TITLE NAME COMMAND NAME COMMAND ...: the second is what the others are compared with.
compare() {
	title=$1
	shift
	: >"$work/names"
	: >"$work/commands"
	while [ $# -gt 0 ]; do
		echo "$1" >>"$work/names"
		echo "$2" >>"$work/commands"
		shift 2
	done
	echo "$title"
	set --
	while read -r command; do
		set -- "$@" "$command"
	done <"$work/commands"
	inside "$tests/bench-launch" "$rounds" 10 "$@" >"$work/times"
	paste -d '|' "$work/names" "$work/times" | awk -F'[| ]' -v peer="${peer:-bwrap}" '
		{name[NR] = $0; sub(/\|.*/, "", name[NR]); split(substr($0, length(name[NR]) + 2), t, " "); p50[NR] = t[1]; p90[NR] = t[2]; p99[NR] = t[3]}
		END {for (i = 1; i <= NR; i++)
			printf "  %-32s p50 %8.2f ms  p90 %8.2f  p99 %8.2f   x %s %5.2f\n", name[i], p50[i] / 1e3, p90[i] / 1e3, p99[i] / 1e3, peer, p50[i] / p50[2]}'
}

# Medians of the steps of the sessions that the log tells of, in the order in which they come.
phases() {
	sed -n 's/.*: phases: //p' "$work/log" | python3 -c '
import statistics, sys
steps = {}
for line in sys.stdin:
    for step in line.strip().split(", "):
        name, us = step.rsplit(" ", 1)
        steps.setdefault(name, []).append(int(us))
print("  phases (us):", ", ".join(f"{name} {statistics.median(us):.0f}" for name, us in steps.items()))'
}

vitrine="$bin/vitrine run --quiet --socket $work/socket -- /bin/true"
bwrap='bwrap --unshare-all --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp /bin/true'
peers=
for runtime in crun runc; do
	if command -v $runtime >/dev/null && bundle $runtime; then
		peers="$peers $runtime"
	fi
done

echo "vitrine bench-launch: $(uname -r), $(nproc) CPUs, $rounds rounds"
set -- 'fork + exec' /bin/true 'bwrap --unshare-all' "$bwrap"
for runtime in $peers; do
	set -- "$@" "$runtime run" "$runtime run --bundle $work/$runtime vitrine-bench-$runtime"
done
start_daemon
compare 'cold (hold: <= 1.0 x bwrap)' "$@" 'vitrine run' "$vitrine"
phases

# Another command in what is alive already. The child of bwrap that its --info-fd names is in the namespaces.
bwrap --unshare-all --die-with-parent --ro-bind / / --proc /proc --dev /dev --tmpfs /tmp --info-fd 3 sleep 100000 3>"$work/info" &
holders="$holders $!"
until grep -q child-pid "$work/info" 2>/dev/null; do
	sleep 0.1
done
within=$(sed -n 's/.*"child-pid": *\([0-9]*\).*/\1/p' "$work/info")
set -- 'fork + exec' /bin/true 'nsenter into bwrap' "nsenter -t $within -m -u -i -n -p -U --preserve-credentials /bin/true"
for runtime in $peers; do
	! keep "$runtime" || set -- "$@" "$runtime exec" "$runtime exec vitrine-bench-alive-$runtime /bin/true"
done
id=$("$bin/vitrine" start --socket "$work/socket")
exec="$bin/vitrine exec --quiet --no-tty --state $work/state --socket $work/socket"
peer=nsenter compare 'another command' "$@" 'vitrine exec' "$exec $id -- /bin/true" \
	'vitrine exec, limits of its own' "$exec --limit memory=64M,pids=32 $id -- /bin/true"
stop_daemon
for alive in 1 50 500; do
	for pool in 0 8; do
		start_daemon --pool $pool
		started=0
		hold $alive
		compare "$alive alive, pool of $pool (hold: <= $([ $pool = 0 ] && echo 1.0 || echo 0.6) x bwrap)" \
			'fork + exec' /bin/true 'bwrap --unshare-all' "$bwrap" 'vitrine run' "$vitrine"
		[ $alive -gt 1 ] || phases
		stop_daemon
	done
done
