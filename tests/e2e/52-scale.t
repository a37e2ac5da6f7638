#!/bin/sh
# Sessions in a row and at once leave a daemon as it was; the pool is kept full, and what is not wanted of it is not kept.
. "$(dirname "$0")/lib.sh"
. "$here/scale.sh"
need_root

start_daemon --pool 2
pool_ready() {
	pgrep -P "$launcher" | wc -l
}
check 'the pool is filled' settled 2 pool_ready
check 'sessions take from it' in_a_row 3
check 'and it is filled again' settled 2 pool_ready
before=$(own_settled)
rings_before=$(rings)
check 'forty sessions in a row' in_a_row 40
check 'and nothing has grown' settled "$before" own
check 'and few rings are kept' has_few_rings "$rings_before"

victim=$(pgrep -P "$launcher" | head -n 1)
others() {
	pgrep -P "$launcher" | grep -cvx "$victim"
}
kill -9 "$victim"
check 'one of the pool that died is replaced' settled 2 others
check 'and sessions run' in_a_row 2

clients=
for i in 1 2 3 4 5 6 7 8 9 10; do
	"$bin/vitrine" run --quiet --socket "$socket" -- sh -c 'hostname; cat /etc/hostname; ls /tmp; touch /tmp/was-here; id -u' >"$work/out$i" </dev/null &
	clients="$clients $!"
done
failed_clients=0
for client in $clients; do
	wait "$client" || failed_clients=$((failed_clients + 1))
done
is 'ten at once' 0 "$failed_clients"
is 'each has an id and a name of its own, and finds nothing of another' '10 20 0' \
	"$(cat "$work"/out* | grep -cx 1000) $(cat "$work"/out* | grep -cE '^[0-9a-f]{12}$') $(grep -l was-here "$work"/out* | wc -l)"
is 'and its own record' 10 "$(cat "$work"/out* | grep -E '^[0-9a-f]{12}$' | sort -u | while read -r id; do
	"$bin/vitrine" replay --state "$state" --json "$id" --kind session.end; done | grep -c '"reason":"exit"')"

# The record of a session out of the pool says what that of any other does.
kinds() {
	"$bin/vitrine" replay --state "$state" --json "$1" | python3 -c '
import json, sys
print(*[(e["kind"], *sorted(k for k in e if k not in ("seq",))) for e in map(json.loads, sys.stdin) if e["kind"] != "checkpoint"], sep="\n")' | sort
}
check 'the pool is full' settled 2 pool_ready
"$bin/vitrine" run --quiet --socket "$socket" --name pooled -- /bin/true
"$bin/vitrine" run --quiet --socket "$socket" --name cold --limit disk=1G -- /bin/true
is 'a session from the pool is recorded as any other' "$(kinds cold)" "$(kinds pooled)"

is 'nobody complains' '' "$(grep -E 'error|not whole' "$work/daemon.log")"

kill -9 "$daemon"
wait "$daemon" 2>/dev/null
start_daemon
unheld() {
	for dir in "$cgroups"/*/; do
		[ ! -d "$dir" ] || ! grep -qs '^populated 0' "$dir/cgroup.events" || ! flock -n "$dir" true || echo "$dir"
	done
}
check 'a pool whose daemon was killed is gone with the next start' settled '' unheld

# A launcher that dies a moment later, and holds its cgroups while the next one starts.
mkdir "$cgroups/0123456789ab"
flock "$cgroups/0123456789ab" sleep 600 &
holder=$!
sleeps() { pgrep -c -P "$holder" sleep; }
check 'a cgroup is held' settled 1 sleeps
stop_daemon
start_daemon
[ -d "$cgroups/0123456789ab" ]
ok $? 'what somebody holds stays at the start'
pkill -P "$holder"
check 'and is gone soon after' settled '' unheld
stop_daemon
done_testing
