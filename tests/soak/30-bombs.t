#!/bin/sh
# Bombs of every kind: each is contained and told for what it is, nothing of it is left, and a neighbour goes on.
set -eu
. "$(dirname "$0")/../e2e/lib.sh"
need_root
socket=$work/socket
# The system's own: sessions see no other.
python=/usr/bin/python3

"$bin/vitrined" --state "$state" --socket "$socket" >"$work/daemon.log" 2>&1 </dev/null &
daemon=$!
for _ in $(seq 200); do
	[ ! -S "$socket" ] || break
	sleep 0.1
done

# The neighbour counts, for as long as the test lasts.
: >"$work/neighbour"
"$bin/vitrine" run --socket "$socket" --name neighbour --quiet -- sh -c 'while :; do echo x; sleep 0.05; done' >"$work/neighbour" 2>/dev/null &
neighbour=$!

# bomb LIMITS COMMAND...: $status, $reason, $work/out; the neighbour has gone on meanwhile.
bomb() {
	limits=$1
	shift
	before=$(wc -l <"$work/neighbour")
	status=0
	timeout 120 "$bin/vitrine" run --socket "$socket" --name bomb --quiet --json --limit "$limits" -- "$@" >"$work/out" 2>"$work/err" </dev/null || status=$?
	tail -n 1 "$work/err" >"$work/verdict"
	reason=$("$python" -c 'import json, sys; v = json.load(open(sys.argv[1])); print(v["reason"], v.get("limit", "-"))' "$work/verdict")
	id=$("$python" -c 'import json, sys; print(json.load(open(sys.argv[1]))["session"])' "$work/verdict")
}
hits() {
	replay --kind limit | "$python" -c '
import json, sys
print(sum(r["count"] for r in map(json.loads, sys.stdin) if r["limit"] == sys.argv[1]))' "$1"
}
# contained NAME LIMIT: it has hit it, nothing is left, no record is lost, a neighbour's commands run.
contained() {
	check "$1: the limit is recorded" test "$(hits "$2")" -ge 1
	is "$1: nothing is left" '' "$(left "$id")"
	check "$1: counts add up" counts_add_up --lossless
	i=0
	while [ "$(wc -l <"$work/neighbour")" -le "$before" ] && [ $i -lt 100 ]; do
		sleep 0.1
		i=$((i + 1))
	done
	check "$1: the neighbour goes on" test "$(wc -l <"$work/neighbour")" -gt "$before"
	check "$1: another session runs" "$bin/vitrine" run --socket "$socket" --quiet -- true
}

# ---- processes ----

bomb pids=64,wall=5 sh -c 'bomb() { bomb | bomb & }; bomb; while :; do sleep 1; done'
contained 'fork bomb' pids
is 'fork bomb: it runs until its time is up' 'timeout wall' "$reason"
bomb pids=64,wall=5 "$python" -c '
import threading, time
held = []
try:
    while True:
        t = threading.Thread(target=time.sleep, args=(60,), daemon=True); t.start(); held.append(t)
except RuntimeError: print(len(held), flush=True)
import os; os._exit(0)'
contained 'threads' pids
check 'threads: no more than may be' test "$(cat "$work/out")" -le 64

# ---- memory ----

bomb memory=64M "$python" -c '
held = []
while True: held.append(bytearray(1 << 20))'
contained 'memory bomb' memory
is 'memory bomb: it is what ended' 'oom memory' "$reason"
bomb memory=64M,pids=64 sh -c '
for i in 1 2 3 4 5 6 7 8; do
	/usr/bin/python3 -c "
held = []
while True: held.append(bytearray(1 << 20))" &
done
wait; exit 3'
contained 'many of them' memory
is 'many of them: the command goes on' 'exit -' "$reason"
bomb memory=64M,disk=1G sh -c 'cat /dev/zero >/dev/shm/big'
contained 'memory by files' memory

# ---- disk ----

for place in /tmp /var/tmp /dev/shm /home/agent /run/lock; do
	bomb disk=16M sh -c "cat /dev/zero >$place/big; wc -c <$place/big"
	contained "bytes in $place" disk
	check "bytes in $place: no more than may be" test "$(cat "$work/out")" -le 16777216
done
bomb disk=16M,inodes=500 "$python" -c '
import errno
try:
    for i in range(100000): open("/tmp/%d" % i, "w").close()
except OSError as e: print(e.errno == errno.ENOSPC)'
contained 'files' inodes
bomb disk=16M "$python" -c '
import os
fd = os.open("/tmp/sparse", os.O_CREAT | os.O_RDWR)
os.ftruncate(fd, 1 << 40)
try:
    for at in range(0, 1 << 40, 1 << 24): os.pwrite(fd, b"x" * 4096, at)
except OSError as e: print(e.errno)'
contained 'a sparse file' disk
is 'a sparse file: until the room is full' 28 "$(cat "$work/out")"
bomb disk=16M "$python" -c '
import os
held = []
try:
    while True:
        fd = os.open("/tmp/x", os.O_CREAT | os.O_RDWR); os.unlink("/tmp/x"); held.append(fd)
        os.write(fd, b"x" * (1 << 20))
except OSError as e: print(e.errno)'
contained 'deleted and open' disk
is 'deleted and open: these count too' 28 "$(cat "$work/out")"
bomb disk=16M "$python" -c '
import os
try:
    fd = os.open("/tmp/x", os.O_CREAT | os.O_RDWR)
    os.posix_fallocate(fd, 0, 1 << 30)
except OSError as e: print(e.errno)'
contained 'room taken ahead' disk

# ---- descriptors, file size, output ----

bomb files=64 "$python" -c '
import os
held = []
try:
    while True: held.append(os.dup(0))
except OSError as e: print(len(held) < 64, e.errno)'
contained 'descriptors' files
is 'descriptors: no more than may be' 'True 24' "$(cat "$work/out")"
bomb files=64 "$python" -c '
import os, socket
held = []
for make in (os.pipe, lambda: socket.socket(socket.AF_UNIX), lambda: os.open("/dev/null", 0), lambda: os.memfd_create("x")):
    try:
        while True: held.append(make())
    except OSError as e: print(e.errno)'
is 'descriptors: of every kind' '24 24 24 24' "$(xargs <"$work/out")"
bomb file_size=1M,disk=64M sh -c 'exec cat /dev/zero >/tmp/big'
contained 'a file that is too large' file_size
is 'a file that is too large: it is what ended' 'limit file_size' "$reason"
bomb output=1M sh -c 'cat /dev/zero & cat /dev/zero >&2 & wait'
contained 'output bomb' output
is 'output bomb: it is what ended' 'limit output' "$reason"
check 'output bomb: not much of it came' test "$(wc -c <"$work/out")" -le 3000000

# ---- processor ----

bomb cpu=0.5,wall=3 sh -c 'for i in 1 2 3 4; do while :; do :; done & done; wait'
contained 'cpu hog' cpu
check 'cpu hog: half of a processor and no more' "$python" -c '
import json, sys
usage = json.load(open(sys.argv[1]))["usage"]
print(usage)
sys.exit(not usage["cpu_ns"] / usage["wall_ns"] < 0.75)' "$work/verdict"

# ---- ends ----

short=0
for _ in $(seq 50); do
	"$bin/vitrine" run --socket "$socket" --quiet -- sh -c 'head -c 1000000 /dev/zero | tr "\0" a; exit 3' >"$work/out" && status=0 || status=$?
	[ "$status" -eq 3 ] && [ "$(wc -c <"$work/out")" -eq 1000000 ] || short=$((short + 1))
done
is 'fifty ends with a million bytes each: none is cut' 0 "$short"

kill "$daemon"
wait "$daemon" || :
wait "$neighbour" || :
done_testing
