#!/bin/sh
# What users of sandboxes report again and again, kind by kind. Where another file has the test it is named here.
#
#   a kind of report                                          where it is tested
#   --------------------------------------------------------  ------------------------------------------------------
#   a timeout ends the shell, its children run on             65-limits (wall), here: all their ends are recorded
#   a daemonised process survives a kill, or the command      67-kill, 76-escape
#   the end of the output is cut                              30-streams
#   zombies pile up                                           67-kill
#   a fork bomb is not held, or ends without a word           65-limits (pids)
#   a timeout is not enforced while the client is away        here: a client that is stopped
#   a command without input or terminal hangs its client      30-streams, here: interactive shell, heredoc
#   a full pipe is a deadlock                                 30-streams
#   a great deal of output fills the supervisor               here: memory of the recorder; 65-limits (output)
#   order of output is lost                                   here: each stream by itself, both in one
#   a secret cut by a border of a chunk stays                 30-streams, 35-redaction
#   a terminal has no size, no resize, is not the own one     70-terminal, here: sizes that are none, /dev/tty
#   death by signal, 255, 126 and 127 are mixed up            20-bad-input, 67-kill, here: 255
#   files, memory or queues of the session before are there   here: the next one with the same host ids
#   the environment of the host is there                      75-isolation, here: of every process that can be seen
#   a second kill fails, or one while it starts leaves a bit  67-kill, here: while it starts
#   a killed supervisor leaves sessions, mounts, records      55-crash
#   a planted link leads the supervisor out                   76-escape, 77-template
#   a disk quota is not enforced                              65-limits (disk, inodes)
#   the record can be erased from inside                      40-strict, 76-escape, 90-verify
#   an attempt to get out looks like any other failure        66-attempts, 76-escape
#   on some hosts it fails, or runs with less than it says    67-doctor, 69-unmerged, here: chroot, no cgroups, read-only
set -eu
. "$(dirname "$0")/lib.sh"
need_root

field() {
	tail -n 1 "$work/err" | python3 -c '
import json, sys
print(json.loads(sys.stdin.readline()).get(sys.argv[1], "-"))' "$1"
}

# ---- process tree and time ----

run --json --limit wall=1s -- sh -c 'sleep 300 & setsid sleep 301 & wait' >"$work/out" 2>"$work/err" && status=0 || status=$?
is 'time that is up ends the command' 'timeout 137' "$(field reason) $status"
is 'and each process of it has its end in the record' "$(replay --kind process.fork | wc -l)" "$(replay --kind process.exit | wc -l)"

"$bin/vitrine" run --state "$state" --json --limit wall=1s -- sleep 300 >"$work/out" 2>"$work/err" &
client=$!
wait_for grep -q '^session' "$work/err"
kill -STOP $client
id=$(sed -n 's/^session //p' "$work/err")
check 'the time is up for who does not look, too' wait_for sh -c "'$bin/vitrine' replay --state '$state' --json '$id' | grep -q '\"reason\":\"timeout\"'"
is 'and nothing is left' '' "$(left "$id")"
kill -CONT $client
wait $client && status=0 || status=$?
is 'who looks again is told' 'timeout 137' "$(field reason) $status"

# ---- input, output ----

is 'an interactive shell without a terminal ends' 0 "$(timeout 60 "$bin/vitrine" run --quiet --state "$state" -- bash -ic true </dev/null >/dev/null 2>&1; echo $?)"
is 'a heredoc arrives' 'one two' "$(timeout 60 "$bin/vitrine" run --quiet --state "$state" -- sh -c 'cat <<-X | tr "\n" " " | sed "s/ $//"
	one
	two
	X' </dev/null)"
is 'a closed input is no input' 0 "$(timeout 60 "$bin/vitrine" run --quiet --state "$state" -- cat <&- | wc -c)"

cat >"$work/order.py" <<-'PYTHON'
	import os
	for i in range(300):
	    os.write(1, b"%d\n" % (2 * i))
	    os.write(2, b"%d\n" % (2 * i + 1))
PYTHON
run --quiet -- python3 -c "$(cat "$work/order.py")" >"$work/out" 2>"$work/err"
is 'each stream is in its order' "$(seq 0 2 598 | cksum) $(seq 1 2 599 | cksum)" "$(cksum <"$work/out") $(cksum <"$work/err")"
run --quiet -- sh -c "exec python3 -c \"\$1\" 2>&1" sh "$(cat "$work/order.py")" >"$work/out" 2>"$work/err"
is 'and both in one are in that of both' "$(seq 0 599 | cksum)" "$(cksum <"$work/out")"

socket=$work/control.sock
"$bin/vitrined" --state "$state" --socket "$socket" --pool 2 >"$work/daemon.log" 2>&1 </dev/null &
daemon=$!
trap 'kill $daemon 2>/dev/null || :; finish' EXIT
wait_for test -S "$socket"
recorder=$(ps -e -o pid=,ppid=,comm= | awk -v parent=$daemon '$2 == parent && $3 ~ /^vitrine-record/ {print $1}')
peak() {
	awk '/^VmHWM/ {print $2}' "/proc/$recorder/status"
}
echo '{"output_cap": 1048576}' >"$work/policy.json"
run --quiet --socket "$socket" --policy "$work/policy.json" -- sh -c 'yes | head -c 20000000' >"$work/out"
before=$(peak)
is 'a great deal of output passes' 200000000 "$(run --quiet --socket "$socket" --policy "$work/policy.json" -- sh -c 'yes | head -c 200000000' | wc -c)"
check 'and ten times as much takes no more memory' test "$(($(peak) - before))" -lt 65536
is 'the record says how much it was and what is kept' '200000000 1048576' "$(replay --kind session.end | python3 -c '
import json, sys
o = json.loads(sys.stdin.readline())["stdout"]
print(o["total"], o["kept"])')"

# ---- terminals ----

cat >"$work/sizes.py" <<-'PYTHON'
	import fcntl, os, pty, struct, sys, termios
	for rows, columns in [(0, 0), (65535, 65535), (40, 120)]:
	    pid, fd = pty.fork()
	    if pid == 0:
	        fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
	        os.execv(sys.argv[1], [sys.argv[1], "run", "--quiet", "--state", sys.argv[2], "--", "sh", "-c", "stty size; echo by-name >/dev/tty"])
	    text = b""
	    while True:
	        try:
	            some = os.read(fd, 4096)
	        except OSError:
	            some = b""
	        if not some:
	            break
	        text += some
	    os.waitpid(pid, 0)
	    print(text.decode().replace("\r", "").replace("\n", " ").strip())
PYTHON
python3 "$work/sizes.py" "$bin/vitrine" "$state" >"$work/out"
is 'a terminal without a size has the usual one, others their own; and it is the one of its session' \
	"24 80 by-name
65535 65535 by-name
40 120 by-name" "$(cat "$work/out")"

# ---- ends ----

run --json -- sh -c 'exit 255' >"$work/out" 2>"$work/err" && status=0 || status=$?
is 'exit 255 is no signal' 'exit 255 255' "$(field reason) $(field exit_code) $status"

for n in 1 2 3 4; do
	"$bin/vitrine" run --socket "$socket" --json --name "early$n" -- sleep 300 >/dev/null 2>"$work/err" &
	client=$!
	check "killed while it starts ($n)" wait_for "$bin/vitrine" kill --socket "$socket" "early$n"
	wait $client && status=0 || status=$?
	is "is killed ($n)" killed "$(field reason)"
	check "which its client tells ($n)" test "$status" -eq 137 -o "$status" -eq 125
	id=$("$bin/vitrine" replay --state "$state" --json "early$n" --kind session.end | sed 's/.*"session":"\([0-9a-f]*\)".*/\1/')
	is "once ($n)" 1 "$("$bin/vitrine" replay --state "$state" --json "early$n" --kind session.end | wc -l)"
	is "wholly ($n)" '' "$(left "$id")"
done

# ---- what the session before left ----

cat >"$work/stores.py" <<-'PYTHON'
	import ctypes, os, sys
	libc = ctypes.CDLL(None, use_errno=True)
	leave, key = sys.argv[1] == "leave", 0x76697472
	create = 0o1000 if leave else 0
	found = []
	for place in ("/tmp", "/var/tmp", "/dev/shm", "/run/lock", "/home/agent", os.environ["HOME"]):
	    path = place + "/left-behind"
	    if leave:
	        open(path, "w").close()
	    elif os.path.exists(path):
	        found.append(path)
	for name, call in (("shm", lambda: libc.shmget(key, 4096, create | 0o600)), ("sem", lambda: libc.semget(key, 1, create | 0o600)),
	                   ("msg", lambda: libc.msgget(key, create | 0o600)),
	                   ("mqueue", lambda: libc.mq_open(b"/left-behind", 0o102 if leave else 2, 0o600, None))):
	    if call() >= 0:
	        found.append(name)
	print(" ".join(found))
PYTHON
host_uid() {
	replay --kind process.exec | sed -n 's/.*"host_uid":\([0-9]*\).*/\1/p' | head -n 1
}
is 'a session has every store' 'shm sem msg mqueue' "$(run --quiet -- python3 -c "$(cat "$work/stores.py")" leave)"
uid=$(host_uid)
# The next one has the same ids on the host, unless somebody else was quicker.
for _ in 1 2 3 4 5; do
	found=$(run --quiet -- python3 -c "$(cat "$work/stores.py")" look)
	next=$(host_uid)
	[ "$next" != "$uid" ] && [ -z "$found" ] || break
	run --quiet -- python3 -c "$(cat "$work/stores.py")" leave >"$work/out"
	uid=$(host_uid)
done
is "the next finds nothing in any ($uid, $next)" '' "$found"
run --quiet --socket "$socket" -- python3 -c "$(cat "$work/stores.py")" leave >"$work/out"
for n in 1 2 3; do
	is "nor does one that was made ahead ($n)" '' "$(run --quiet --socket "$socket" -- python3 -c "$(cat "$work/stores.py")" look)"
done

CANARY=of-the-host
export CANARY
# shellcheck disable=SC2016
is 'no environment of the host is in reach' no "$(run --quiet --user root -- sh -c '
	all=$(cat /proc/*/environ /proc/*/cmdline 2>/dev/null | tr "\0" "\n")
	case $all in *of-the-h[o]st* | *vitr[i]ned*) echo yes ;; *PATH=*) echo no ;; esac')"

# ---- hosts ----

# refused COMMAND...: what vitrine says when it cannot.
refused() {
	"$@" "$bin/vitrine" run --quiet --state "$state" -- true >"$work/out" 2>"$work/err" && status=0 || status=$?
	echo $status
}
cgroup2=$(awk '$3 == "cgroup2" {print $2}' /proc/mounts | head -n 1)
# shellcheck disable=SC2016
is 'without cgroup v2 nothing runs' 125 "$(refused unshare -m sh -c "while umount -l '$cgroup2' 2>/dev/null; do :; done; exec \"\$@\"" sh)"
check 'and the mend is said' grep -q 'no mount of the whole cgroup v2 hierarchy.*mount -t cgroup2' "$work/err"
is 'nor where it cannot be written' 125 "$(refused unshare -m sh -c "mount -o remount,bind,ro '$cgroup2' && exec \"\$@\"" sh)"
check 'which is named' grep -qE "$cgroup2.*Read-only file system" "$work/err"
# The mount is in a namespace of its own, and in no directory that is cleaned up.
# shellcheck disable=SC2016
is 'nor in a chroot, where there are no user namespaces' 125 \
	"$(refused unshare -m --propagation private sh -c 'mount --rbind / /mnt && exec chroot /mnt "$@"' sh)"
check 'which is said too' grep -qE 'making the namespaces: Operation not permitted|chroot' "$work/err"

done_testing
