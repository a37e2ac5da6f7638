#!/bin/sh
# 1,000 sessions in a row leave nothing; 500 are alive at once, each costs little, and the next starts as fast as any.
. "$(dirname "$0")/../e2e/lib.sh"
. "$(dirname "$0")/../e2e/scale.sh"
need_root
many=${SESSIONS:-500}
row=${ROW:-1000}

for pool in 0 4; do
	start_daemon --pool $pool
	in_a_row 50 # what is made at first use is made
	check "pool of $pool: its sandboxes are there" settled $pool eval 'pgrep -P "$launcher" | wc -l'
	before=$(own_settled)
	rings_before=$(rings)
	kb_before=$(private_kb "$daemon")
	recorder_before=$(private_kb "$recorder")
	launcher_before=$(private_kb "$launcher")
	check "pool of $pool: $row sessions in a row" in_a_row "$row"
	check "pool of $pool: nothing has grown" settled "$before" own
	check "pool of $pool: few rings are kept" has_few_rings "$rings_before"
	kb=$(($(private_kb "$daemon") - kb_before))
	recorder_kb=$(($(private_kb "$recorder") - recorder_before))
	launcher_kb=$(($(private_kb "$launcher") - launcher_before))
	echo "# memory after $row sessions: vitrined $kb kB more, recorder $recorder_kb kB more, launcher $launcher_kb kB more"
	[ $kb -lt 4096 ] && [ $recorder_kb -lt 4096 ] && [ $launcher_kb -lt 4096 ]
	ok $? "pool of $pool: nor has memory"
	is "pool of $pool: each has its record" $((row + 50)) "$(ls "$state/sessions" | wc -l)"
	stop_daemon
	rm -rf "$state"
done

# Half a thousand at once.
start_daemon
in_a_row 20
before=$(own_settled)
rings_before=$(rings)
own_kb() {
	echo $(($(private_kb "$daemon") + $(private_kb "$recorder") + $(private_kb "$resolver") + $(private_kb "$launcher")))
}
kb_before=$(own_kb)
slab() {
	awk '/^(Slab|PageTables|KernelStack|Percpu):/ {kb += $2} END {print kb}' /proc/meminfo
}
slab_before=$(slab)
clients=
i=0
while [ $i -lt "$many" ]; do
	"$bin/vitrine" run --quiet --socket "$socket" -- sleep 100000 </dev/null >/dev/null 2>&1 &
	clients="$clients $!"
	i=$((i + 1))
done
inits() {
	pgrep -P "$launcher" | wc -l
}
alive() {
	"$bin/vitrine" ps --state "$state" --json | grep -o '"running"' | wc -l
}
check "$many are alive at once" settled "$many" alive
is 'and the kernel names the files of each' "$many" "$(find "/proc/$daemon/fd" -lname '*fanotify*' | wc -l)"
init=0
for pid in $(pgrep -P "$launcher"); do
	init=$((init + $(private_kb "$pid")))
done
kb=$((($(own_kb) - kb_before + init) / many))
kernel=$((($(slab) - slab_before) / many))
echo "# each session: $kb kB of our programs, about $kernel kB of the kernel's beside its ring"
[ $((kb + kernel)) -le 2048 ]
ok $? "each takes at most 2 MiB beside its ring"

python3 - "$bin/vitrine" "$socket" >"$work/starts" <<-'PY'
	import statistics, subprocess, sys, time
	times = []
	for i in range(200):
	    begun = time.perf_counter()
	    subprocess.run([sys.argv[1], "run", "--quiet", "--socket", sys.argv[2], "--", "/bin/true"], check=True, stdin=subprocess.DEVNULL)
	    times.append((time.perf_counter() - begun) * 1e3)
	times.sort()
	print(f"{times[100]:.1f} {times[198]:.1f}")
PY
read -r p50 p99 <"$work/starts"
echo "# start to cleaned with $many alive: p50 $p50 ms, p99 $p99 ms (hold: p99 < 3 x p50)"
is "sessions start and end beside them" yes "$([ -n "$p99" ] && echo yes)"

# shellcheck disable=SC2086
kill $clients
check 'they are killed with their clients' settled 0 inits
check 'and nothing is left of them' settled "$before" own
echo "# rings kept: $rings_before before, $(rings) now"
stop_daemon
done_testing
