#!/bin/sh
# bench.sh BIN TESTS [ROUNDS]: the figures that vitrine holds, each as a ratio to its peer in the same run, interleaved.
# Run by `make bench`, as root. SECONDS_OF_FLOOD (default 10) is the length of the loss test.
set -eu
bin=$1
tests=$2
rounds=${3:-7}
flood=${SECONDS_OF_FLOOD:-10}
work=$(mktemp -d /tmp/vitrine-bench.XXXXXX)
daemon=
holder=
auditd=
# The kernel's audit goes back to where it was found: off, without rules.
stop_audit() {
	[ -n "$auditd" ] || return 0
	auditctl -D >/dev/null
	auditctl -e 0 >/dev/null
	kill "$auditd"
	wait "$auditd" || :
	auditd=
}
finish() {
	stop_audit 2>/dev/null || :
	[ -z "$holder" ] || kill "$holder" 2>/dev/null || :
	[ -z "$daemon" ] || { kill "$daemon"; wait "$daemon"; } 2>/dev/null || :
	rm -rf "$work"
}
trap finish EXIT
mkdir "$work/workspace"
cp "$tests/loops" "$work/workspace/"
chown -R 1000:1000 "$work/workspace"
chmod 755 "$work"

"$bin/vitrined" --state "$work/state" --socket "$work/socket" 2>"$work/daemon.log" &
daemon=$!
until [ -S "$work/socket" ]; do
	kill -0 "$daemon" 2>/dev/null || { cat "$work/daemon.log" >&2; exit 1; }
	sleep 0.1
done

inside() {
	"$bin/vitrine" run --quiet --socket "$work/socket" --workspace "$work/workspace" -- /workspace/loops "$@"
}

# The same kind of file system as a session's /tmp: an overlay whose upper layer is a tmpfs.
bare_on_overlay() {
	unshare -m sh -c '
		mount -t tmpfs none /mnt && mkdir /mnt/lower /mnt/upper /mnt/work /mnt/all &&
		mount -t overlay -o lowerdir=/mnt/lower,upperdir=/mnt/upper,workdir=/mnt/work none /mnt/all && exec "$@"' sh "$tests/loops" "$@" /mnt/all
}

bare() {
	"$tests/loops" "$@"
}

median() {
	sort -g "$1" | awk '{v[NR] = $1} END {print v[int((NR + 1) / 2)]}'
}

# compare NAME HOLD PEER_NAME PEER... -- OURS...: both by turns, medians and their ratio.
compare() {
	name=$1
	hold=$2
	peer_name=$3
	peer=$4
	ours=$5
	: >"$work/peer"
	: >"$work/ours"
	i=0
	while [ $i -lt "$rounds" ]; do
		$peer >>"$work/peer"
		$ours >>"$work/ours"
		i=$((i + 1))
	done
	p=$(median "$work/peer")
	o=$(median "$work/ours")
	echo "$name|$p|$o|$hold|$peer_name" | awk -F'|' '{printf "%-44s %9.1f ns  %-22s %9.1f ns  x %.2f  (hold: <= %s)\n", $1, $3, $5, $2, $3 / $2, $4}'
}

echo "vitrine bench: $(uname -r), $(nproc) CPUs, $rounds rounds, medians"
compare 'open + write + close in a session' 1.8 'bare, same overlay' 'bare_on_overlay files 100000' 'inside files 100000'
compare 'exec of /bin/true in a session' 1.10 'bare' 'bare execs 500 /bin/true' 'inside execs 500 /bin/true'

# The host while a session is alive: by turns with and without one.
: >"$work/peer"
: >"$work/ours"
i=0
while [ $i -lt "$rounds" ]; do
	bare getppid 3000000 >>"$work/peer"
	"$bin/vitrine" run --quiet --socket "$work/socket" -- sleep 60 2>/dev/null &
	holder=$!
	sleep 0.5
	bare getppid 3000000 >>"$work/ours"
	kill "$holder"
	wait "$holder" || :
	holder=
	sleep 0.3
	i=$((i + 1))
done
p=$(median "$work/peer")
o=$(median "$work/ours")
echo "$p $o" | awk '{printf "%-44s %9.1f ns  %-22s %9.1f ns  x %.2f  (hold: <= 1.4)\n", "getppid on the host while a session lives", $2, "bare", $1, $2 / $1}'

# What a session leaves: its final tree of 10,000 files, from the end of its command to the end of its record.
for final in off meta full; do
	echo "{\"final\": \"$final\"}" >"$work/$final.json"
done
# leave FINAL: milliseconds of a session that leaves files of 16 KiB, for each 1,000 of them.
leave() {
	"$bin/vitrine" run --quiet --socket "$work/socket" --policy "$work/$1.json" -- /usr/bin/python3 -c '
data = bytes(16384)
for i in range(10000):
    open(f"/tmp/{i}", "wb").write(data)
'
	"$bin/vitrine" replay --state "$work/state" --json last --kind exec.end,session.end | python3 -c '
import json, sys
first, last = (json.loads(line)["boot_ns"] for line in sys.stdin)
print((last - first) / 1e7)'
}
: >"$work/left.off"
: >"$work/left.meta"
: >"$work/left.full"
i=0
while [ $i -lt "$rounds" ]; do
	for final in off meta full; do
		leave $final >>"$work/left.$final"
	done
	i=$((i + 1))
done
echo "$(median "$work/left.off") $(median "$work/left.meta") $(median "$work/left.full")" |
	awk '{printf "%-44s %9.1f ms  %-22s %9.1f ms  (per 1,000 files of 16 KiB)\n", "final tree: told and hashed", $3 - $1, "told", $2 - $1}'

# A session beside one that wants all processors and may have half of one.
latency_alone() {
	inside latency 1000
}
latency_beside_hog() {
	"$bin/vitrine" run --quiet --socket "$work/socket" --name hog --limit cpu=0.5 -- sh -c 'for i in 1 2 3 4; do while :; do :; done & done; wait' 2>/dev/null &
	holder=$!
	until "$bin/vitrine" replay --state "$work/state" --json hog --kind process.exec 2>/dev/null | grep -q .; do sleep 0.05; done
	inside latency 1000
	"$bin/vitrine" kill --socket "$work/socket" hog
	wait "$holder" || :
	holder=
}
compare "a neighbour's p95, beside a cpu hog" 3 'alone' latency_alone latency_beside_hog

# Loss: eight sessions as fast as they can.
i=0
clients=
while [ $i -lt 8 ]; do
	"$bin/vitrine" run --json --quiet --socket "$work/socket" --name "flood$i" --workspace "$work/workspace" -- \
		sh -c "end=\$((\$(date +%s) + $flood)); while [ \$(date +%s) -lt \$end ]; do /workspace/loops files 20000 >/dev/null; done" 2>"$work/verdict$i" &
	clients="$clients $!"
	i=$((i + 1))
done
for client in $clients; do
	wait "$client" || :
done
tail -q -n 1 "$work"/verdict* | python3 -c '
import json, sys
seconds = float(sys.argv[1])
counts = [json.loads(line)["counts"] for line in sys.stdin]
produced = sum(c["produced"] for s in counts for c in s.values())
lost = sum(c["lost"] for s in counts for c in s.values())
print(f"8 sessions flooding for {seconds:.0f} s: {produced:,} records, {produced / seconds:,.0f}/s, lost {lost}  (hold: 0)")' "$flood"

if [ -x "$tests/bench-journal" ]; then "$tests/bench-journal"; fi
if [ -x "$tests/bench-pipeline" ]; then "$tests/bench-pipeline"; fi
if [ -x "$tests/bench-redact" ]; then "$tests/bench-redact" || :; fi

# auditd, where nobody uses the kernel's audit: it watches the same acts of the whole host.
start_audit() {
	command -v auditctl >/dev/null && [ "$(auditctl -s 2>/dev/null | awk '$1 == "enabled" || $1 == "pid" {n += $2} END {print n + 0}')" = 0 ] ||
		return 1
	mkdir -p "$work/audit/plugins"
	cat >"$work/audit/auditd.conf" <<-CONF
		log_file = $work/audit/log
		log_format = RAW
		flush = INCREMENTAL_ASYNC
		freq = 50
		max_log_file = 4096
		max_log_file_action = IGNORE
		space_left = 75
		space_left_action = IGNORE
		admin_space_left = 50
		admin_space_left_action = IGNORE
		disk_full_action = IGNORE
		disk_error_action = IGNORE
		plugin_dir = $work/audit/plugins
	CONF
	chmod -R go-w "$work/audit"
	auditd -n -c "$work/audit" >"$work/audit/stdout" 2>&1 &
	auditd=$!
	sleep 1
	kill -0 "$auditd" 2>/dev/null && auditctl -b 65536 >/dev/null && auditctl -e 1 >/dev/null &&
		auditctl -a always,exit -F arch=b64 -S execve -S execveat -S connect >/dev/null &&
		auditctl -a always,exit -F arch=b64 -S open -S openat -F a2\&3 >/dev/null
}

if start_audit; then
	for loop in "files 20000 /tmp" "execs 300 /bin/true" "getppid 1000000"; do
		: >"$work/ours"
		i=0
		while [ $i -lt "$rounds" ]; do
			# shellcheck disable=SC2086
			bare $loop >>"$work/ours"
			i=$((i + 1))
		done
		echo "auditd ${loop%% *} $(median "$work/ours")"
	done >"$work/auditd"
	lost=$(auditctl -s | awk '$1 == "lost" {print $2}')
	stop_audit
	for loop in "files 20000 /tmp" "execs 300 /bin/true" "getppid 1000000"; do
		: >"$work/peer"
		i=0
		while [ $i -lt "$rounds" ]; do
			# shellcheck disable=SC2086
			bare $loop >>"$work/peer"
			i=$((i + 1))
		done
		echo "bare ${loop%% *} $(median "$work/peer")"
	done >>"$work/auditd"
	awk -v lost="$lost" '{v[$1, $2] = $3}
		END {
			printf "auditd, the same loops host-wide: files x %.2f, exec x %.2f, getppid x %.2f of bare; it lost %d\n",
				v["auditd", "files"] / v["bare", "files"], v["auditd", "execs"] / v["bare", "execs"],
				v["auditd", "getppid"] / v["bare", "getppid"], lost
		}' "$work/auditd"
else
	echo "auditd: not measured (not installed, or the kernel's audit is in use)"
fi
