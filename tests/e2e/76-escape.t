#!/bin/sh
# Every known way out of a sandbox, tried as agent and as root of the session (tests/e2e/escape): each holds, each call that
# is refused is in the record, and the host is afterwards what it was before.
#
# What is tried leaves a mark wherever it may: a word that is nowhere else. The host is searched for it.
[ -n "${VITRINE_OWN_MOUNTS:-}" ] || [ "$(id -u)" -ne 0 ] || VITRINE_OWN_MOUNTS=1 exec unshare -m sh "$0"
. "$(dirname "$0")/lib.sh"
need_root

mark=vm$(od -An -N5 -tx1 /dev/urandom | tr -d ' \n')
key=$(printf %d "0x$(echo "$mark" | tail -c 8)")
mkdir "$work/workspace"
cp "$tests/escape" "$work/workspace/escape"
printf '#!/proc/self/exe\n' >"$work/workspace/again"
chmod 755 "$work/workspace/again"
chown -R 1000:1000 "$work/workspace"

# What of the host the acts aim at. Counters of the kernel that run by themselves are left out.
snapshot() {
	aims | LC_ALL=C sort
}
aims() {
	cat /proc/self/mountinfo
	find /proc/sys -type f -perm -400 ! -path '*/random/*' ! -name '*-nr' ! -name '*-state' ! -name ns_last_pid ! -name 'hung_task_*' ! -name tainted ! -name nr ! -name 'nf_conntrack_*' \
		! -name perf_event_max_sample_rate ! -name '*stat*' ! -path '*/sched_domain/*' ! -path '*/fs/quota/*' ! -path '*/neigh/*' ! -path '*/conf/*' -exec grep -aH . {} + 2>/dev/null
	sha256sum "$bin"/* /bin/sh /usr/bin/env /etc/passwd /etc/group /etc/shadow 2>/dev/null
	stat -c '%n %a %u %i' / /etc /usr /usr/bin /tmp /dev /dev/null /dev/shm /root /etc/ld.so.preload /proc/sys/fs/binfmt_misc 2>/dev/null
	stat -c '%n %t:%T %a %u' /dev/null /dev/zero /dev/tty
	uname -n
	echo "oopses and warnings: $(($(cat /proc/sys/kernel/tainted) & 640))"
	lsmod 2>/dev/null | wc -l
}

# What of the mark is on the host.
marks() {
	find / /tmp /var/tmp /dev/shm /run /run/lock /root /home /etc -maxdepth 2 -name "$mark*" 2>/dev/null
	grep -l "^$mark\$" /proc/[0-9]*/comm 2>/dev/null
	grep -aw "@$mark" /proc/net/unix
	for kind in shm sem msg; do
		grep -E "^ *$key " /proc/sysvipc/$kind
	done
	find "$work/queues" -mindepth 1 -name "*$mark*" 2>/dev/null
}

# Keys that belong to an id of the sessions.
keys() {
	/usr/bin/python3 -c '
import sys
first = int(open(sys.argv[1]).read())
for line in open("/proc/keys"):
    if first <= int(line.split()[5]) < first + 65536:
        print(line, end="")' "$work/base" 2>/dev/null
}

echo private >"$work/private"
chmod 600 "$work/private"
mkdir "$work/queues"
mount -t mqueue -o ro none "$work/queues" 2>/dev/null
/usr/bin/python3 -c '
import socket, sys, time
s = socket.socket(socket.AF_UNIX)
s.bind("\0host-" + sys.argv[1])
s.listen()
print("ready", flush=True)
time.sleep(600)' "$mark" >"$work/listening" &
listener=$!
trap 'kill $listener 2>/dev/null; umount "$work/queues" 2>/dev/null; finish' EXIT
for _ in $(seq 100); do
	grep -qs ready "$work/listening" && break
	sleep 0.1
done

snapshot >"$work/before"
is 'nothing bears the mark yet' '' "$(marks)"
: >"/dev/shm/$mark.file"
is 'and what does is found' "/dev/shm/$mark.file" "$(marks | sort -u)"
rm "/dev/shm/$mark.file"

for user in agent root; do
	# With descriptors open that lead to what nobody may read.
	run --json --user $user --workspace "$work/workspace" -- ./escape "$mark" >"$work/tried" 2>"$work/err" 7</etc 8</ 9<"$work/private"
	is "as $user: all of it was tried" 'done' "$(tail -n 1 "$work/tried")"
	is "as $user: nothing led out" '' "$(grep -P '\tESCAPED\t' "$work/tried")"
	check "as $user: and it was much" test "$(grep -cP '\theld\t' "$work/tried")" -gt 180
	grep -P '^attempt\t' "$work/tried" | cut -f2- >"$work/want"
	replay --kind attempt | python3 -c '
import json, sys
for line in sys.stdin:
    e = json.loads(line)
    assert e["reason"], e
    print(e["pid"], e["syscall"], e["errno"], e.get("arguments", ""), sep="\t")' >"$work/have"
	is "as $user: every refused call is in the record, in order" "$(cat "$work/want")" "$(cat "$work/have")"
	check "as $user: counts add up, nothing is lost" counts_add_up --lossless
	id=$(replay --kind session.start | sed 's/.*"session":"\([0-9a-f]*\)".*/\1/')
	is "as $user: what it left running is dead, however it hid" '' "$(left "$id")"
	replay --kind process.exec | sed -n 's/.*"host_uid":\([0-9]*\).*/\1/p' | head -n 1 >"$work/uid"
	echo $(($(cat "$work/uid") / 65536 * 65536)) >"$work/base"
	for _ in $(seq 50); do
		[ -n "$(keys)" ] || break
		sleep 0.1
	done
	is "as $user: no key is left" '' "$(keys)"
	is "as $user: nothing on the host bears the mark" '' "$(marks)"
done

# A link of /proc as the interpreter of what is run is the program that starts it (CVE-2019-5736).
run --json --workspace "$work/workspace" -- ./again >"$work/out" 2>"$work/err"
is 'init is not run a second time' 'exit 1' "$(tail -n 1 "$work/err" | python3 -c 'import json, sys
v = json.load(sys.stdin)
print(v["reason"], v["exit_code"])')"
check 'and that is in the record' sh -c "$bin/vitrine replay --state $state --json last --kind process.exec | grep -q '\"interpreter\":\"/proc/self/exe\"'"

# A descriptor that was left open as the working directory (CVE-2024-21626).
escaped=
for fd in 3 5 7 8; do
	run --quiet --cwd /proc/self/fd/$fd -- sh -c 'ls ../../../../etc/shadow' >/dev/null 2>&1 7</etc 8</ && escaped="$escaped $fd"
done
is 'no descriptor leads to a directory of the host' '' "$escaped"

# Nor does what is bound: vitrine's own files are in reach of nobody.
for place in / "$state" "$state/sessions" "$work" /run/vitrine; do
	run --quiet --workspace "$place" -- true 2>"$work/err"
	is "$place is no workspace" '125 1' "$? $(grep -c 'which no session may write' "$work/err")"
done

snapshot >"$work/after"
is 'the host is what it was' '' "$(LC_ALL=C comm -3 "$work/before" "$work/after")"
check 'and its listener is still there' kill -0 $listener

done_testing
