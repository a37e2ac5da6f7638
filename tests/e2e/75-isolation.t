#!/bin/sh
# What a session can reach of its host, as agent and as its own root: what everybody may read, and no more.
. "$(dirname "$0")/lib.sh"
need_root

# A file of the host that only root may read, in a tree that sessions see.
planted=$(mktemp /usr/local/share/vitrine-test.XXXXXX)
trap 'rm -f "$planted"; finish' EXIT
echo 'only for the root of the host' >"$planted"
chmod 600 "$planted"

mkdir "$work/workspace"
cat >"$work/workspace/look.py" <<-'PYTHON'
	import ctypes, os, stat, sys

	problems = []

	def check(what, is_right):
	    if not is_right:
	        problems.append(what)

	# Every file that others may not read must not open, whoever we are. What belongs to us is the session's own.
	seen = 0
	for top in ("/usr", "/etc", "/bin", "/sbin", "/lib", "/var", "/srv", "/opt", "/root", "/home"):
	    for directory, _, names in os.walk(top):
	        for name in names:
	            path = os.path.join(directory, name)
	            try:
	                st = os.lstat(path)
	            except OSError:
	                continue
	            if not stat.S_ISREG(st.st_mode) or st.st_uid in (0, 1000) or st.st_mode & stat.S_IROTH:
	                continue
	            seen += 1
	            try:
	                open(path, "rb").close()
	                problems.append(f"{path} opened, mode {st.st_mode:o}")
	            except OSError:
	                pass
	check("the planted file is among those looked at", seen >= 1)
	check("no shadow file", not os.path.exists("/etc/shadow"))

	libc = ctypes.CDLL(None, use_errno=True)

	def errno_of(number, *args):
	    ctypes.set_errno(0)
	    r = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(a) for a in args])
	    return ctypes.get_errno() if r == -1 else 0

	EPERM, ENOSYS = 1, 38
	for what, number, args, want in [
	    ("io_uring_setup", 425, (8, 0), EPERM),
	    ("io_uring_enter", 426, (0, 0, 0, 0, 0, 0), EPERM),
	    ("io_setup (native AIO)", 206, (8, 0), EPERM),
	    ("bpf", 321, (0, 0, 0), EPERM),
	    ("userfaultfd", 323, (0,), EPERM),
	    ("keyctl", 250, (0, 0), EPERM),
	    ("perf_event_open", 298, (0, 0, -1, -1, 0), EPERM),
	    ("mount", 165, (0, 0, 0, 0, 0), EPERM),
	    ("unshare(CLONE_NEWUSER)", 272, (0x10000000,), EPERM),
	    ("setns", 308, (0, 0), EPERM),
	    ("ptrace", 101, (0, 1, 0, 0), EPERM),
	    ("open_by_handle_at", 304, (0, 0, 0), EPERM),
	    ("init_module", 175, (0, 0, 0), EPERM),
	    ("clone3", 435, (0, 0), ENOSYS),
	    ("a number that nobody knows", 9999, (), ENOSYS),
	]:
	    have = errno_of(number, *args)
	    check(f"{what}: errno {have}, want {want}", have == want)

	status = dict(line.split(":", 1) for line in open("/proc/self/status") if ":" in line)
	check("no_new_privs", status["NoNewPrivs"].strip() == "1")
	check("seccomp filter", status["Seccomp"].strip() == "2")
	capabilities = int(status["CapEff"], 16)
	check(f"capabilities {capabilities:x}", capabilities == 0 if os.getuid() else capabilities & ~0xfb == 0)
	check("no descriptor is inherited", sorted(os.listdir("/proc/self/fd"))[:3] == ["0", "1", "2"] and len(os.listdir("/proc/self/fd")) <= 4)
	check("nobody else's processes", all(int(p) < 100 for p in os.listdir("/proc") if p.isdigit()))
	import resource
	for name, want in [("CORE", 0), ("STACK", 8 << 20), ("MEMLOCK", 8 << 20), ("MSGQUEUE", 819200), ("NICE", 0), ("RTPRIO", 0)]:
	    hard = resource.getrlimit(getattr(resource, "RLIMIT_" + name))[1]
	    check(f"limit {name}: {hard}", 0 <= hard <= want)
	check("execution domain", open("/proc/self/personality").read() == "00000000\n")
	check("no variable of the host", "CANARY" not in os.environ)
	check("no network but loopback", os.listdir("/sys/class/net") == ["lo"] if os.path.isdir("/sys/class/net") else True)
	for path in ("/proc/sys/kernel/hostname", "/proc/sysrq-trigger", "/proc/sys/kernel/core_pattern"):
	    try:
	        open(path, "w").close()
	        problems.append(f"{path} can be written")
	    except OSError:
	        pass
	for path in ("/usr/bin/new", "/etc/ld.so.preload", "/new"):
	    try:
	        open(path, "w").close()
	        os.unlink(path)
	        if path.startswith("/usr"):
	            problems.append(f"{path} can be made")
	    except OSError:
	        pass
	print("\n".join(problems), end="")
	sys.exit(1 if problems else 0)
PYTHON
chown -R 1000:1000 "$work/workspace"
CANARY=x
export CANARY

for user in agent root; do
	check "as $user" setarch --uname-2.6 "$bin/vitrine" run --quiet --state "$state" --user $user --workspace "$work/workspace" -- /usr/bin/python3 look.py
done

# The kernel tells of each change of a mount table, also of one that lasts a moment. A namespace as the host's, in which nobody
# else mounts; a change of ours at the end shows that changes are told.
cat >"$work/mounts.py" <<-'PYTHON'
	import os, select, subprocess, sys
	table = open("/proc/self/mountinfo")
	poll = select.poll()
	poll.register(table, select.POLLPRI | select.POLLERR)

	def changed():
	    table.seek(0)
	    table.read()
	    return bool(poll.poll(0))

	changed()
	for arguments in ([], ["--user", "root"], ["--rootfs", "mounts"], ["--net", "host"], ["--limit", "memory=64M,disk=10M"], ["--workspace", sys.argv[3]]):
	    r = subprocess.run([sys.argv[1], "run", "--quiet", "--state", sys.argv[2]] + arguments + ["--", "true"], stdout=subprocess.DEVNULL)
	    if r.returncode != 0 or changed():
	        print("with", arguments, "status", r.returncode)
	subprocess.run(["mount", "--bind", "/tmp", "/mnt"], check=True)
	print("told" if changed() else "not told")
PYTHON
mkdir -p "$work/tree/bin"
cp "$tests/acts" "$work/tree/bin/true"
"$bin/vitrine" template --state "$state" add mounts "$work/tree" >/dev/null
is 'no mount of a session is ever in the mount table of the host' told \
	"$(unshare -m /usr/bin/python3 "$work/mounts.py" "$bin/vitrine" "$state" "$work/workspace")"

# Sessions that live at once, of daemons that do not know each other: no host id is of both.
uids=$(
	for n in 1 2; do
		"$bin/vitrine" run --quiet --state "$work/state$n" -- sleep 60 &
		echo $! >"$work/client$n"
	done
	for n in 1 2; do
		for _ in $(seq 200); do
			uid=$("$bin/vitrine" replay --state "$work/state$n" --json last --kind process.exec 2>/dev/null | sed -n 's/.*"host_uid":\([0-9]*\).*/\1/p' | head -1)
			[ -z "$uid" ] || break
			sleep 0.1
		done
		echo $((uid / 65536))
	done
	kill "$(cat "$work/client1")" "$(cat "$work/client2")"
	wait
)
is 'two sessions have two ranges of user ids' 2 "$(echo "$uids" | grep -v '^0$' | sort -u | wc -l)"

# The network of the host is shared when asked for; names that it has in no file system stay out of reach.
cat >"$work/listen.py" <<-'PYTHON'
	import socket, sys
	s = socket.socket(socket.AF_UNIX)
	s.bind("\0" + sys.argv[1])
	s.listen()
	print("ready", flush=True)
	while True:
	    s.accept()[0].close()
PYTHON
cat >"$work/workspace/reach.py" <<-'PYTHON'
	import socket, sys
	s = socket.socket(socket.AF_UNIX)
	own = socket.socket(socket.AF_UNIX)
	own.bind("\0own")
	own.listen()
	socket.socket(socket.AF_UNIX).connect("\0own")
	try:
	    s.connect("\0" + sys.argv[1])
	    print("reached")
	except OSError as e:
	    print(e.strerror)
PYTHON
/usr/bin/python3 "$work/listen.py" "vitrine-test-$$" >"$work/listening" &
listener=$!
for _ in $(seq 100); do
	grep -qs ready "$work/listening" && break
	sleep 0.1
done
for net in none host; do
	reach=$(run --quiet --net $net --workspace "$work/workspace" -- /usr/bin/python3 reach.py "vitrine-test-$$")
	if [ $net = none ]; then
		is 'an abstract socket of the host is not in a network of one'"'"'s own' 'Connection refused' "$reach"
	elif "$bin/vitrine" doctor | grep -q 'abstract sockets and signals are walled'; then
		is 'nor, walled, in that of the host' 'Operation not permitted' "$reach"
	fi
done
kill $listener

is 'the planted file is whole' 'only for the root of the host' "$(cat "$planted")"
check 'files of /workspace belong to its owner' sh -c "
	$bin/vitrine run --quiet --state $state --workspace $work/workspace -- touch made-by-agent &&
	test \"\$(stat -c %u $work/workspace/made-by-agent)\" = 1000"

done_testing
