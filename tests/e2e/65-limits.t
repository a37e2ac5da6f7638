#!/bin/sh
# Limits hold, each hit is a record, and a session that ends says the one true reason why.
set -eu
. "$(dirname "$0")/lib.sh"
need_root

# Run with --json; $work/verdict is the verdict, $work/out its output, $status the exit status.
limited() {
	status=0
	timeout 120 "$bin/vitrine" run --state "$state" --quiet --json "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	tail -n 1 "$work/err" >"$work/verdict"
}

# field NAME: of the verdict
field() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2], ""))' "$work/verdict" "$1"
}

# hits LIMIT: how often the record says that it was hit; its value has to be $2 if given
hits() {
	replay --kind limit | python3 -c '
import json, sys
found = [r for line in sys.stdin for r in [json.loads(line)] if r["limit"] == sys.argv[1]]
assert all(r["value"] == int(sys.argv[2]) and r["exec"] == 1 for r in found), found
print(sum(r["count"] for r in found))' "$1" "$2"
}

# What is switched on in the root of the v2 hierarchy, where it has controllers, is switched off again.
controllers() {
	cat "$(sed -n 's/^[^ ]* \([^ ]*\) cgroup2 .*/\1/p' /proc/mounts | head -n 1)/cgroup.subtree_control"
}
controllers_before=$(controllers)

# ---- memory ----

limited --limit memory=64M -- python3 -c 'x = bytearray(256 << 20)'
is 'a memory bomb ends with reason oom' 'oom 137' "$(field reason) $status"
is 'and a record of the hit' 1 "$(hits memory 67108864)"
replay --kind limit --kind process.exit >"$work/records"
check 'with the process that was killed' python3 -c '
import json, sys
records = list(map(json.loads, open(sys.argv[1])))
victim = [r for r in records if r["kind"] == "limit"][0]
end = [r for r in records if r["kind"] == "process.exit" and r["proc"] == victim["proc"]][0]
assert end["by"] == "oom" and end["signal"] == 9, end' "$work/records"
check 'counts add up' counts_add_up --lossless
is 'nothing of it is left' '' "$(left "$(field session)")"

limited --limit memory=64M -- sh -c 'python3 -c "x = bytearray(256 << 20)"; echo after; exit 0'
is 'a child that is killed for it does not end the command' 'exit 0 after' "$(field reason) $status $(cat "$work/out")"
check 'but is a record' test "$(hits memory 67108864)" -ge 1

limited --limit memory=64M -- sh -c 'kill -9 $$'
is 'a program that kills itself was not out of memory' 'signal 9 137 process' "$(field reason) $(field signal) $status $(field by)"
is 'and hit nothing' 0 "$(hits memory 67108864)"
limited --limit memory=64M -- sh -c 'python3 -c "x = bytearray(256 << 20)"; kill -9 $$'
is 'nor was one that does so right after another was' 'signal 9 process' "$(field reason) $(field signal) $(field by)"
is 'which is a hit all the same' 1 "$(hits memory 67108864)"

limited --limit memory=32M,disk=1G -- sh -c 'head -c 200M /dev/zero >/tmp/big; echo $?'
check 'files in memory count too' test "$(hits memory 33554432)" -ge 1

# ---- processes ----

cat >"$work/bomb.py" <<'PYTHON'
import os, time
started = refused = 0
end = time.time() + 2
while time.time() < end:
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        started += 1
    except OSError:
        refused += 1
print(started, refused)
PYTHON
limited --limit pids=32 -- python3 -c "$(cat "$work/bomb.py")"
is 'a fork bomb gets as many processes as were asked for' 31 "$(cut -d' ' -f1 "$work/out")"
replay --kind limit >"$work/records"
check 'the process that was refused is named' python3 -c '
import json, sys
assert all(r["proc"] and r["pid"] for r in map(json.loads, open(sys.argv[1])))' "$work/records"
is 'every refusal is counted' "$(cut -d' ' -f2 "$work/out")" "$(hits pids 32)"
check 'in few records' test "$(replay --kind limit | wc -l)" -le 12
is 'what it left behind is dead' '' "$(left "$(field session)")"

# ---- processor ----

limited --limit cpu=0.1 -- python3 -c '
import time
end = time.time() + 2
while time.time() < end: pass'
check 'a tenth of a processor is no more than that' python3 -c '
import json, sys
usage = json.load(open(sys.argv[1]))["usage"]
print(usage)
sys.exit(not 0.02 < usage["cpu_ns"] / usage["wall_ns"] < 0.2)' "$work/verdict"
check 'and being held back is recorded' test "$(hits cpu 100)" -ge 2

limited --limit cpu_weight=20 -- true
is 'a share of the processor can be had' 0 "$status"

# ---- disks ----

mkdir "$work/slow"
chown 1000:1000 "$work/slow"
limited --limit io=2M --workspace "$work/slow" -- sh -c '
for i in 1 2 3; do dd if=/dev/zero of=/workspace/x bs=1M count=2 conv=fsync 2>/dev/null; done'
case $(field step) in
limits) check 'a rate that cannot be had names what is missing' grep -qE 'io|block device' "$work/err" ;;
*) check 'six megabytes at two a second take their time' python3 -c '
import json, sys
wall = json.load(open(sys.argv[1]))["usage"]["wall_ns"]
print(wall)
sys.exit(not 1.5e9 < wall)' "$work/verdict" ;;
esac
limited --limit io=2M --workspace /dev/shm -- true
check 'what is on no disk has no rate' grep -qE '/workspace is on no block device|mapping the owner' "$work/err"

# ---- the workspace ----

limited --limit workspace=4M --workspace "$work/slow" -- sh -c 'head -c 1M /dev/zero >/workspace/little; sleep 1.5; head -c 20M /dev/zero >/workspace/much; sleep 60'
is 'a workspace that grows too much ends the session' 'limit workspace 137' "$(field reason) $(field limit) $status"
is 'and that is recorded' 1 "$(hits workspace 4194304)"
limited --limit workspace=4M --workspace "$work/slow" -- python3 -c '
import os, time
fd = os.open("/workspace/gone", os.O_CREAT | os.O_RDWR)
os.unlink("/workspace/gone")
os.write(fd, b"x" * (16 << 20)); os.fsync(fd)
time.sleep(60)'
is 'so does what has no name any more' 'limit workspace 137' "$(field reason) $(field limit) $status"
limited --limit workspace=4M --workspace "$work/slow" -- sh -c 'wc -c </workspace/much; sleep 2.5'
is 'what was there before does not count' 'exit 20971520' "$(field reason) $(cat "$work/out")"

# ---- files ----

limited --limit disk=8M -- sh -c 'head -c 20M /dev/zero >/tmp/x || wc -c </tmp/x'
check 'bytes of files are limited' test "$(cat "$work/out")" -le 8388608
is 'and that is recorded' 1 "$(hits disk 8388608)"
limited --limit disk=8M -- python3 -c '
import os, time
kept = []
try:
    for place in ("/tmp", "/dev/shm", "/var/tmp", "/run/lock"):
        fd = os.open(place + "/x", os.O_CREAT | os.O_RDWR)
        os.unlink(place + "/x")
        kept.append(fd)
        for i in range(3): os.write(fd, b"x" * (1 << 20))
except OSError as e:
    print(e.errno)'
is 'over all writable places, deleted files too' 28 "$(cat "$work/out")"
is 'by the process that wanted them' 1 "$(hits disk 8388608)"
limited -- sh -c 'head -c 10 /dev/zero >/dev/full'
is 'a device that is always full is no limit' 0 "$(replay --kind limit | wc -l)"
limited --limit inodes=200 -- python3 -c '
n = 0
try:
    for n in range(300): open("/tmp/f%d" % n, "w")
except OSError as e:
    print(e.errno, n < 200)'
is 'the number of files is limited' '28 True' "$(cat "$work/out")"
is 'and that is recorded too' 1 "$(hits inodes 200)"

limited --limit files=16,file_size=1M -- python3 -c '
import os
held = []
try:
    while True: held.append(os.open("/dev/null", 0))
except OSError as e:
    print(len(held) + 3, e.errno)
for fd in held: os.close(fd)
try:
    with open("/tmp/x", "wb", 0) as f:
        for i in range(3): f.write(b"x" * (1 << 19))
except OSError as e:
    print(e.errno, os.stat("/tmp/x").st_size)'
is 'open files and the size of one' '16 24 27 1048576' "$(tr '\n' ' ' <"$work/out" | sed 's/ $//')"
is 'each hit of either is recorded' '1 1' "$(hits files 16) $(hits file_size 1048576)"
limited --limit files=16 -- python3 -c '
import os, resource
resource.setrlimit(resource.RLIMIT_NOFILE, (10, 16))
try:
    while True: os.open("/dev/null", 0)
except OSError as e: print(e.errno)'
is 'a limit that a program has set itself is its own affair' '24 0' "$(cat "$work/out") $(hits files 16)"
limited --limit file_size=1M -- sh -c 'exec dd if=/dev/zero of=/tmp/x bs=1M count=3'
is 'who is ended by a file that is too large was so by the limit' 'limit file_size 153' "$(field reason) $(field limit) $status"

# ---- time and output ----

# Ignored signals, a session of its own, a double fork, one that is stopped: all of them end.
limited --limit wall=1 -- sh -c '
trap "" TERM INT HUP
setsid sleep 1000 &
( ( sleep 1000 & ) & )
sleep 1000 & kill -STOP $!
sleep 1000'
is 'time that is up is a timeout' 'timeout wall 137' "$(field reason) $(field limit) $status"
is 'and a record' 1 "$(hits wall 1000000000)"
is 'nothing survives it' '' "$(left "$(field session)")"
check 'it took about as long as it may' python3 -c '
import json, sys
sys.exit(not 0.9e9 < json.load(open(sys.argv[1]))["usage"]["wall_ns"] < 6e9)' "$work/verdict"

limited --limit output=100000 -- sh -c 'yes & yes >&2 & wait'
is 'output past its limit ends the session' 'limit output 137' "$(field reason) $(field limit) $status"
is 'and is a record' 1 "$(hits output 100000)"
check 'not much of it came through' test "$(wc -c <"$work/out")" -le 300000
limited --limit output=100000 -- head -c 100000 /dev/zero
is 'all that it may comes through' 'exit 0 100000' "$(field reason) $status $(wc -c <"$work/out")"

# Nobody takes the output: the end does not wait for him.
began=$(date +%s)
run --limit wall=1 --quiet -- yes 2>/dev/null | { sleep 20; wc -c >/dev/null; } &
pipe=$!
for _ in $(seq 100); do
	sleep 0.1
	[ -z "$(replay --kind session.end 2>/dev/null)" ] || break
done
check 'a reader that has stopped does not keep a killed session' test "$(($(date +%s) - began))" -lt 15
wait $pipe

# ---- what cannot be had ----

limited --limit files=2000000000 -- true || :
is 'a limit that cannot be had refuses the session' 125 "$status"
limited --limit files=1000000000 -- true
most=$(sed -n 's/^Max open files *[^ ]* *\([^ ]*\).*/\1/p' /proc/self/limits)
if [ "$most" = unlimited ] || [ "$most" -ge 1000000000 ]; then
	is 'or is had' 0 "$status"
else
	check 'and says what is missing' grep -q 'hard limit' "$work/err"
fi
limited --limit memory=64M,speed=9 -- true
check 'an unknown limit names the known ones' grep -q 'speed=9.*memory, pids, cpu, wall, disk, inodes, files, file_size, output, cpu_weight, io, workspace' "$work/err"
limited --limit memory=lots -- true
check 'a bad value says what is allowed' grep -q 'memory=lots.*at least 4M' "$work/err"

# ---- what was used ----

limited -- sh -c 'head -c 1000000 /dev/zero >/tmp/x; /bin/true; python3 -c "x = bytearray(40 << 20)"; printf 1234567890; echo 1234 >&2'
check 'the verdict says what was used' python3 -c '
import json, sys
v = json.load(open(sys.argv[1]))
u = v["usage"]
assert u["cpu_ns"] > 0 and u["wall_ns"] > 0 and 40 << 20 <= u["memory_peak"] < 400 << 20, u
assert u["write_bytes"] == 1000000 and u["processes"] == 4, u
assert v["stdout"]["total"] == 10 and v["stderr"]["total"] == 5, v' "$work/verdict"

# ---- in a policy ----

echo '{"limits": {"pids": 20, "wall": "5m"}}' >"$work/policy.json"
limited --policy "$work/policy.json" --limit pids=10 -- python3 -c "$(sed 's/+ 2/+ 0.2/' "$work/bomb.py")"
is 'an option overrides the policy' 9 "$(cut -d' ' -f1 "$work/out")"
check 'the record says what is in force' sh -c "'$bin/vitrine' replay --state '$state' --json last --kind session.start | grep -q '\"limits\":{\"pids\":10,\"wall\":300}'"

is 'the controllers of the hierarchy are on and off as before' "$controllers_before" "$(controllers)"

done_testing
