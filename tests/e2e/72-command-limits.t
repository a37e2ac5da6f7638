#!/bin/sh
# Limits of one command: each holds for it alone, is a record that says whose it is, and the session goes on.
set -eu
. "$(dirname "$0")/lib.sh"
need_root

vitrine() {
	command=$1
	shift
	"$bin/vitrine" "$command" --state "$state" "$@"
}

id=$(vitrine start --limit memory=256M,pids=64,cpu=2,wall=120s 2>"$work/refused") || skip_all "$(cat "$work/refused")"

# limited LIMITS COMMAND...: $status and $verdict (reason, limit) of it; what it prints goes to $work/out.
limited() {
	limits=$1
	shift
	status=0
	vitrine exec --quiet --json --no-tty ${limits:+--limit "$limits"} "$id" -- "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	verdict=$(tail -n 1 "$work/err" | python3 -c '
import json, sys
v = json.load(sys.stdin)
print(v["reason"], v.get("limit", "-"))')
}

# hits: limit, value and scope of each limit record of the last command, and whether a process stands in it.
hits() {
	vitrine replay --json "$id" | python3 -c '
import json, sys
events = [json.loads(line) for line in sys.stdin]
last = max(e["exec"] for e in events if e["kind"] == "exec.start")
print(*sorted({"%s=%d/%s/%s" % (e["limit"], e["value"], e["scope"], "proc" if "proc" in e else "-") for e in events if e["kind"] == "limit" and e.get("exec") == last}))'
}

limited memory=16M python3 -c 'a = bytearray(64 << 20)'
is 'memory' '137 oom memory memory=16777216/command/proc' "$status $verdict $(hits)"
limited '' python3 -c 'a = bytearray(64 << 20); print("fits")'
is 'is not taken from the next one' '0 exit - fits' "$status $verdict $(cat "$work/out")"
limited memory=128M python3 -c 'a = bytearray(512 << 20)'
is 'the smaller one is the one that is hit' '137 oom memory memory=134217728/command/proc' "$status $verdict $(hits)"
limited '' python3 -c 'a = bytearray(512 << 20)'
is 'that of the session holds for all, and says so' '137 oom memory memory=268435456/session/proc' "$status $verdict $(hits)"
limited pids=4 sh -c 'for i in 1 2 3 4 5 6; do sleep 100 & done; wait'
is 'processes' '2 exit - pids=4/command/proc' "$status $verdict $(hits)"
limited wall=200ms sleep 1000
is 'time' '137 timeout wall wall=200000000/command/-' "$status $verdict $(hits)"
limited output=4K sh -c 'yes | head -c 1000000; sleep 1000'
is 'output' '137 limit output output=4096/command/-' "$status $verdict $(hits)"
limited files=16 python3 -c 'l = [open("/dev/null") for i in range(50)]'
is 'open files' '1 exit - files=16/command/proc' "$status $verdict $(hits)"
limited file_size=1K head -c 4096 /dev/zero
is 'a limit that is not reached is none' '0 exit - ' "$status $verdict $(hits)"
limited file_size=1K sh -c 'exec head -c 4096 /dev/zero >/tmp/large'
is 'size of a file' '153 limit file_size file_size=1024/command/proc' "$status $verdict $(hits)"
limited cpu=0.1 python3 -c '
import time
end = time.process_time() + 0.1
while time.process_time() < end: pass'
is 'processor' '0 exit - cpu=100/command/-' "$status $verdict $(hits)"

# ---- a bomb beside another command ----

vitrine exec --quiet --limit pids=16 "$id" -- python3 -c '
import os, time
while True:
    try:
        os.fork()
    except OSError:
        time.sleep(0.01)' >/dev/null 2>&1 &
bomb=$!
for _ in 1 2 3; do
	limited '' sh -c 'sh -c "exit 5"; exit $?'
	is 'a fork bomb beside it costs a command nothing' '5 exit -' "$status $verdict"
done
kill $bomb
wait $bomb 2>/dev/null || :

# ---- what is refused ----

check 'more than the session has' sh -c "! '$bin/vitrine' exec --state '$state' --limit memory=1G '$id' -- true 2>'$work/said' && grep -q 'limits.memory: of a command; the session has at most' '$work/said'"
for shared in disk=1G inodes=1000 workspace=1G io=1M cpu_weight=10; do
	check "$shared of one command" sh -c "! '$bin/vitrine' exec --state '$state' --limit $shared '$id' -- true 2>'$work/said' && grep -q 'is of the session' '$work/said'"
done
check 'the session ends' vitrine kill "$id"
is 'and leaves no cgroup' '' "$(left "$id")"
check 'nothing is lost' counts_add_up --lossless

# ---- by policy, for each command of a session ----

cat >"$work/policy.json" <<'END'
{"limits": {"memory": "64M"}, "command_limits": {"memory": "16M", "wall": "60s"}}
END
status=0
vitrine run --quiet --policy "$work/policy.json" --json -- python3 -c 'a = bytearray(32 << 20)' >/dev/null 2>"$work/err" || status=$?
id=last
is 'a policy limits the first command too' '137 memory=16777216/command/proc' "$status $(hits)"
id=$(vitrine start --policy "$work/policy.json")
limited '' python3 -c 'a = bytearray(32 << 20)'
is 'and each that follows' '137 oom memory memory=16777216/command/proc' "$status $verdict $(hits)"
limited memory=48M python3 -c 'a = bytearray(32 << 20)'
is 'but for what is asked for itself' '0 exit -' "$status $verdict"
is 'the record says what each had' '{"memory":16777216,"wall":60} {"memory":50331648,"wall":60}' "$(vitrine replay --json --kind exec.start "$id" | python3 -c '
import json, sys
print(*(json.dumps(json.loads(line)["limits"], separators=(",", ":"), sort_keys=True) for line in sys.stdin))')"
vitrine kill "$id"
printf '{"limits": {"pids": 8}, "command_limits": {"pids": 9}}' >"$work/policy.json"
check 'a policy that contradicts itself is refused' sh -c "! '$bin/vitrine' run --state '$state' --policy '$work/policy.json' -- true 2>'$work/said' && grep -q 'limits.pids' '$work/said'"
done_testing
