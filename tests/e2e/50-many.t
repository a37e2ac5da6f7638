#!/bin/sh
# Eight sessions at once, each with its own acts: counts are exact and each session holds only its own.
. "$(dirname "$0")/lib.sh"
need_root
make_workspace

"$bin/vitrined" --state "$state" --socket "$work/socket" >"$work/daemon.log" 2>&1 &
daemon=$!
i=0
while [ ! -S "$work/socket" ] && [ $i -lt 100 ]; do
	sleep 0.1
	i=$((i + 1))
done
[ -S "$work/socket" ]
ok $? 'the daemon listens'

each=2500
i=1
clients=
while [ $i -le 8 ]; do
	"$bin/vitrine" run --quiet --socket "$work/socket" --name "s$i" -- sh -c "
		n=0
		while [ \$n -lt $each ]; do
			: >/tmp/session-$i-file-\$n
			n=\$((n + 1))
		done
		/bin/true $i" 2>>"$work/clients.log" &
	clients="$clients $!"
	i=$((i + 1))
done
bad=0
for client in $clients; do
	wait "$client" || bad=1
done
cp "$work/clients.log" "$work/log"
ok $bad 'eight sessions at once ran'

bad=0
i=1
while [ $i -le 8 ]; do
	"$bin/vitrine" replay --state "$state" --json "s$i" >"$work/record"
	own=$(grep -c "\"kind\":\"file.create\".*\"path\":\"/tmp/session-$i-file-" "$work/record")
	others=$(grep -v "session-$i-file-" "$work/record" | grep -c 'session-[0-9]-file-')
	lost=$(grep -c '"kind":"gap"' "$work/record")
	[ "$own" -eq $each ] && [ "$others" -eq 0 ] && [ "$lost" -eq 0 ] || {
		bad=1
		echo "s$i: own $own, of others $others, gaps $lost" >>"$work/log"
	}
	python3 -c '
import json, sys
seqs = [json.loads(line)["seq"] for line in open(sys.argv[1])]
sys.exit(seqs != list(range(seqs[0], seqs[0] + len(seqs))))' "$work/record" || bad=1
	i=$((i + 1))
done
ok $bad "each holds its own $each acts, no other's, with gapless numbers"

# The daemon sees the end of a client a moment after the client.
count_fds() {
	sleep 0.5
	find "/proc/$daemon/fd" 2>/dev/null | wc -l
}
i=0
while [ $i -lt 20 ]; do
	"$bin/vitrine" run --quiet --socket "$work/socket" -- true 2>>"$work/log"
	i=$((i + 1))
done
before=$(count_fds)
while [ $i -lt 60 ]; do
	"$bin/vitrine" run --quiet --socket "$work/socket" -- true 2>>"$work/log"
	i=$((i + 1))
done
is 'no descriptor of the daemon grows with sessions' "$before" "$(count_fds)"
kill "$daemon"
wait "$daemon"
left=0
for id in $("$bin/vitrine" ps --state "$state" --json | python3 -c 'import json, sys; print(*(s["id"] for s in json.load(sys.stdin)))'); do
	find /sys/fs/cgroup -maxdepth 3 -name "$id" 2>/dev/null | grep -q . && left=$((left + 1))
done
is 'no cgroup of a session is left' 0 "$left"

done_testing
