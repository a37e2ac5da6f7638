#!/bin/sh
# A sandbox out of the pool is dressed as its session asks: limits, workspace, secrets and system calls hold as in one that
# was made for it; what cannot be had is refused in the same words; nothing of it is left.
. "$(dirname "$0")/lib.sh"
. "$here/scale.sh"
need_root

mkdir "$work/files"
chown 1000:1000 "$work/files"
TOKEN=a-planted-token-$$
export TOKEN

# pool NAME: a number that the daemon tells of its pool.
pool() {
	python3 -c '
import json, socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(sys.argv[1])
s.send(b"{\"request\":\"daemon.info\"}")
print(json.loads(s.recv(65536))["pool"][sys.argv[2]])' "$socket" "$1"
}

# with OPTION... -- COMMAND...: a session once the pool is full. $source says where its sandbox came from.
with() {
	settled 1 pool ready >/dev/null
	before=$(pool taken)
	status=0
	timeout 60 "$bin/vitrine" run --socket "$socket" --quiet --json "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	tail -n 1 "$work/err" >"$work/verdict"
	if [ "$(pool taken)" -eq $((before + 1)) ]; then source=pool; else source=cold; fi
}

field() {
	python3 -c 'import json, sys; print(json.load(open(sys.argv[1])).get(sys.argv[2], ""))' "$work/verdict" "$1"
}

# hits LIMIT: how often the record says that it was hit
hits() {
	replay --kind limit | python3 -c '
import json, sys
print(sum(r["count"] for r in map(json.loads, sys.stdin) if r["limit"] == sys.argv[1] and r["exec"] == 1))' "$1"
}

check 'the daemon starts' start_daemon --pool 1
settled 1 pool ready >/dev/null
is 'with a pool that nobody has taken from' '1 1 0' "$(pool size) $(pool ready) $(pool taken)"

# ---- bombs ----

with --limit memory=64M -- python3 -c 'x = bytearray(256 << 20)'
is 'a memory bomb' 'pool oom 137' "$source $(field reason) $status"
is 'and the record of it' 1 "$(hits memory)"
is 'nothing of it is left' '' "$(left "$(field session)")"

with --limit pids=32 -- python3 -c '
import os, time
started = refused = 0
while refused < 50:
    try:
        if os.fork() == 0:
            time.sleep(60)
            os._exit(0)
        started += 1
    except OSError:
        refused += 1
print(started, refused)'
is 'a fork bomb, which has pid 1 in its limit' 'pool 31 50' "$source $(cat "$work/out")"
is 'every refusal is counted' 50 "$(hits pids)"
is 'what it left behind is dead' '' "$(left "$(field session)")"

with --limit memory=96M,pids=40,disk=8M,inodes=200,files=32,file_size=6M -- python3 -c '
import os
def most(act):
    n = 0
    try:
        while True:
            act(n)
            n += 1
    except OSError as e:
        return n, e.errno
held = []
open_files = most(lambda n: held.append(os.open("/dev/null", 0)))[0] + 3
for fd in held: os.close(fd)
import signal
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
f = os.open("/tmp/one", os.O_CREAT | os.O_WRONLY)
size, big = most(lambda n: os.write(f, bytes(1 << 20)))
g = os.open("/dev/shm/two", os.O_CREAT | os.O_WRONLY)
rest, full = most(lambda n: os.write(g, bytes(1 << 16)))
os.unlink("/tmp/one")
files, none = most(lambda n: os.close(os.open("/tmp/f%d" % n, os.O_CREAT)))
print(open_files, size, big, rest <= 32, full, 100 < files < 200, none)'
is 'bytes, files, open files and the size of one' 'pool 32 6 27 True 28 True 28' "$source $(cat "$work/out")"
is 'each hit is a record' '1 1 1 1' "$(for l in files file_size disk inodes; do hits $l; done | tr '\n' ' ' | sed 's/ $//')"

with --limit cpu=0.1,cpu_weight=50 -- python3 -c '
import time
end = time.time() + 1
while time.time() < end: pass'
check 'a tenth of a processor' python3 -c '
import json, sys
usage = json.load(open(sys.argv[1]))["usage"]
print(usage)
sys.exit(not 0.01 < usage["cpu_ns"] / usage["wall_ns"] < 0.25)' "$work/verdict"
is 'was that of a pooled one' pool "$source"
check 'and being held back is recorded' test "$(hits cpu)" -ge 1

with --limit wall=1 -- sh -c 'trap "" TERM INT; sleep 1000 & sleep 1000'
is 'time that is up' 'pool timeout wall' "$source $(field reason) $(field limit)"
with --limit output=10000 -- sh -c 'while :; do echo xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx; done'
is 'and output that is too much' 'pool limit output' "$source $(field reason) $(field limit)"

# ---- the workspace ----

with --workspace "$work/files" --limit workspace=4M,io=2M -- sh -c '
for i in 1 2; do dd if=/dev/zero of=/workspace/x bs=1M count=2 conv=fsync 2>/dev/null; done; stat -c "%u %a" /workspace/x; ls /workspace'
case $(field step) in
limits) check 'a rate that cannot be had names what is missing' grep -qE 'io|block device' "$work/err" ;;
*)
	is 'a workspace is there, with its owner' '1000 644 x' "$(tr '\n' ' ' <"$work/out" | sed 's/ $//')"
	is 'and on the host' 1000 "$(stat -c %u "$work/files/x")"
	check 'four megabytes at two a second take their time' python3 -c '
import json, sys
wall = json.load(open(sys.argv[1]))["usage"]["wall_ns"]
print(wall)
sys.exit(not 0.7e9 < wall)' "$work/verdict"
	;;
esac
is 'in a pooled one' pool "$source"
with --workspace "$work/files" --user root -- sh -c 'id -u; stat -c %u /workspace; echo it >/workspace/y; cat /workspace/y'
is 'which root of the session may have' 'pool 0 0 it' "$source $(tr '\n' ' ' <"$work/out" | sed 's/ $//')"
replay --kind file.create >"$work/records"
check 'what is written there is in the record' grep -q '"/workspace/y"' "$work/records"
with --workspace "$work/files" --limit workspace=4M -- sh -c 'head -c 20M /dev/zero >/workspace/much; sleep 60'
is 'and how much it may grow is limited' 'pool limit workspace 1' "$source $(field reason) $(field limit) $(hits workspace)"

# ---- secrets and system calls ----

with --secret K=env:TOKEN,as=file,only=/usr/bin/head --secret "D=env:TOKEN,as=file,path=/run/secrets/deep/er,owner=root" -- sh -c 'head -c 99 "$K_FILE"; echo
cat "$K_FILE"; cat "$D_FILE"; ls -n /run/secrets/K; touch /run/secrets/x || echo no'
is 'a secret is a file' "pool $TOKEN" "$source $(head -n 1 "$work/out")"
check 'with its mode and owner' grep -Eq -- '^-r-------- +1 +1000 +1000 .* /run/secrets/K$' "$work/out"
is 'for one program alone' 1 "$(replay --kind attempt | grep -c '"reason":"secret_only"')"
check 'and the place is read by nobody else' grep -qx no "$work/out"
! grep -rqF "$TOKEN" "$state" "$work/daemon.log"
ok $? 'no value is kept'
cat >"$work/tight.json" <<'JSON'
{"seccomp_deny": ["memfd_create"]}
JSON
with --policy "$work/tight.json" -- python3 -c '
import os
try: os.memfd_create("x")
except OSError as e: print(e.errno)'
is 'a filter of its own' 'pool 1' "$source $(cat "$work/out")"

# ---- what one had is not there for the next ----

with -- sh -c 'ls -A /workspace /run/secrets /tmp /dev/shm | grep -v "^/\|^$"; ulimit -n; df --output=size / | tail -n 1; cat /proc/mounts | grep -c "workspace\|secrets"; mount -t tmpfs x /workspace 2>/dev/null && echo mounted'
is 'one that asks for nothing finds none of it' 'pool 1024 2097152 0' "$source $(tr -s ' \n' ' ' <"$work/out" | sed 's/ $//')"

# ---- refusals, in the words of a cold start ----

both() {
	with "$@"
	{ echo "$status $(field reason) $(field step)"; sed 's/[0-9a-f]\{12\}//g' "$work/err" | grep -v '^{'; } >"$work/pooled"
	status=0
	timeout 60 "$bin/vitrine" run --state "$work/other" --quiet --json "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	tail -n 1 "$work/err" >"$work/verdict"
	{ echo "$status $(field reason) $(field step)"; sed 's/[0-9a-f]\{12\}//g' "$work/err" | grep -v '^{'; } >"$work/cold"
	is "refused as in a cold start: $1 $2" "$(cat "$work/cold")" "$(cat "$work/pooled")"
	check 'for a set-up that failed' grep -q '^125 setup_failed' "$work/pooled"
}
both --workspace /sys/kernel -- true
both --limit files=99999999 -- true

# ---- and what a pool is not for ----

with --net host -- true
is 'the network of the host is for one that is made for it' 'cold 0' "$source $status"

check 'the pool is full again' settled 1 pool ready
is 'nobody complains' '' "$(grep -E 'error|not whole' "$work/daemon.log")"
stop_daemon
is 'all ended' 0 $?
done_testing
