#!/bin/sh
# What the filter refuses: the errno inside, and one record of each, of the process that tried.
. "$(dirname "$0")/lib.sh"
need_root

mkdir "$work/workspace"
cat >"$work/workspace/escape.py" <<-'PYTHON'
	import ctypes, errno, mmap, os, sys, threading

	libc = ctypes.CDLL(None, use_errno=True)

	def attempt(name, arguments, number, *values, want=errno.EPERM, tell=True):
	    ctypes.set_errno(0)
	    r = libc.syscall(ctypes.c_long(number), *[ctypes.c_long(v) for v in values])
	    have = ctypes.get_errno() if r == -1 else 0
	    if have != want:
	        print("WRONG", name, arguments, "errno", have, "not", want)
	    if tell:
	        print(os.getpid(), name, want, arguments, sep="\t", flush=True)

	def enter_32(number):
	    code = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
	    code.write(b"\xb8" + number.to_bytes(4, "little") + b"\xcd\x80\xc3")
	    return ctypes.CFUNCTYPE(ctypes.c_int)(ctypes.addressof(ctypes.c_char.from_buffer(code)))()

	for namespace, flag in [("USER", 0x10000000), ("NS", 0x20000), ("PID", 0x20000000), ("NET", 0x40000000),
	                        ("UTS", 0x4000000), ("IPC", 0x8000000), ("CGROUP", 0x2000000)]:
	    attempt("unshare", f"flags=CLONE_NEW{namespace}", 272, flag)
	    attempt("clone", f"flags=CLONE_NEW{namespace}", 56, flag | 17, 0, 0, 0, 0)
	attempt("unshare", "flags=CLONE_NEWTIME", 272, 0x80)
	attempt("mount", "flags=MS_BIND", 165, 0, 0, 0, 0x1000, 0)
	attempt("umount2", "flags=MNT_DETACH", 166, 0, 2)
	attempt("pivot_root", "", 155, 0, 0)
	for name, number in [("fsopen", 430), ("fsconfig", 431), ("fsmount", 432), ("fspick", 433), ("open_tree", 428),
	                     ("move_mount", 429), ("mount_setattr", 442)]:
	    attempt(name, "", number, 0, 0, 0, 0, 0)
	attempt("setns", "type=CLONE_NEWNET", 308, 0, 0x40000000)
	attempt("bpf", "command=BPF_PROG_LOAD", 321, 5, 0, 0)
	attempt("keyctl", "operation=KEYCTL_READ", 250, 11, 0, 0)
	attempt("add_key", "", 248, 0, 0, 0, 0, 0)
	attempt("request_key", "", 249, 0, 0, 0, 0)
	attempt("ptrace", "request=PTRACE_ATTACH,pid=1", 101, 16, 1, 0, 0)
	attempt("process_vm_readv", "pid=1", 310, 1, 0, 0, 0, 0, 0)
	attempt("process_vm_writev", "pid=1", 311, 1, 0, 0, 0, 0, 0)
	attempt("pidfd_getfd", "descriptor=3", 438, 0, 3, 0)
	attempt("kcmp", "pid=1", 312, 1, 1, 0, 0, 0)
	attempt("io_uring_setup", "", 425, 8, 0)
	attempt("io_setup", "", 206, 8, 0)
	attempt("userfaultfd", "", 323, 0)
	attempt("open_by_handle_at", "", 304, 0, 0, 0)
	attempt("fanotify_init", "", 300, 0, 0)
	attempt("perf_event_open", "pid=-1", 298, 0, -1, 0, -1, 0)
	attempt("init_module", "", 175, 0, 0, 0)
	attempt("finit_module", "", 313, 0, 0, 0)
	attempt("delete_module", "", 176, 0, 0)
	attempt("kexec_load", "", 246, 0, 0, 0, 0)
	attempt("kexec_file_load", "", 320, 0, 0, 0, 0, 0)
	attempt("reboot", "command=LINUX_REBOOT_CMD_RESTART", 169, 0xfee1dead, 672274793, 0x1234567, 0)
	attempt("personality", "domain=READ_IMPLIES_EXEC", 135, 0x400000)
	attempt("personality", "domain=MMAP_PAGE_ZERO", 135, 0x100000)
	attempt("ioctl", "request=TIOCSTI", 16, 0, 0x5412, 0)
	attempt("ioctl", "request=TIOCLINUX", 16, 0, 0x541c, 0)
	# What stands in the upper half of a 32-bit argument is no disguise.
	attempt("ioctl", "request=TIOCSTI", 16, 0, 0x7700000000005412, 0)
	attempt("socket", "family=AF_PACKET,type=3,protocol=768", 41, 17, 3, 768)
	attempt("socket", "family=AF_VSOCK,type=1,protocol=0", 41, 40, 1, 0)
	attempt("socket", "family=AF_NETLINK,type=3,protocol=16", 41, 16, 3, 16)
	attempt("chmod", "mode=04755", 90, 0, 0o4755)
	attempt("fchmodat", "mode=02755", 268, -100, 0, 0o2755)
	attempt("openat", "flags=O_WRONLY|O_CREAT,mode=04700", 257, -100, 0, 0o101, 0o4700)
	attempt("mknod", "mode=04644", 133, 0, 0o4644, 0)
	attempt("mknod", "mode=020666", 133, 0, 0o020666, 0x103)
	attempt("mknodat", "mode=060600", 259, -100, 0, 0o060600, 0x700)
	attempt("syslog", "action=3", 103, 3, 0, 0)
	attempt("iopl", "level=3", 172, 3)
	attempt("acct", "", 163, 0)
	attempt("swapon", "", 167, 0, 0)
	attempt("sethostname", "", 170, 0, 0)
	attempt("seccomp", "operation=SECCOMP_SET_MODE_FILTER", 317, 1, 0, 0, want=errno.EINVAL)
	attempt("prctl", "option=PR_SET_SECCOMP", 157, 22, 2, 0, want=errno.EINVAL)
	attempt("x32/write", "", 0x40000001, 1, 0, 0)
	attempt("x32/ptrace", "", 0x40000000 | 521, 16, 1, 0, 0)
	if enter_32(11) != -errno.EPERM:
	    print("WRONG int 0x80")
	print(os.getpid(), "i386/execve", 1, "", sep="\t", flush=True)

	# Another process, and another thread.
	child = os.fork()
	if child == 0:
	    attempt("mount", "flags=0", 165, 0, 0, 0, 0, 0)
	    os._exit(0)
	os.waitpid(child, 0)
	thread = threading.Thread(target=attempt, args=("setns", "type=0", 308, 0, 0))
	thread.start()
	thread.join()

	# No refusals of the filter: the kernel's own answers, and what is only unknown.
	status = ctypes.create_string_buffer(b"/proc/self/status")
	attempt("chmod", "", 90, ctypes.addressof(status), 0o600, tell=False)
	attempt("prctl", "", 157, 4, 77, want=errno.EINVAL, tell=False)
	attempt("clone3", "", 435, 0, 0, want=errno.ENOSYS, tell=False)
	attempt("openat2", "", 437, 0, 0, 0, 0, want=errno.ENOSYS, tell=False)
	attempt("nothing", "", 9999, want=errno.ENOSYS, tell=False)
	attempt("personality", "", 135, 0x1000006, want=errno.ENOSYS, tell=False)
PYTHON
chown -R 1000:1000 "$work/workspace"

# Records of attempts as what the program printed.
attempts() {
	replay --kind attempt | python3 -c '
import json, sys
for line in sys.stdin:
    e = json.loads(line)
    assert e["error"] in ("EPERM", "EINVAL") and e["reason"] and e["exec"] == 1, e
    print(e["pid"], e["syscall"], e["errno"], e.get("arguments", ""), sep="\t")'
}

for user in agent root; do
	run --quiet --user $user --workspace "$work/workspace" -- /usr/bin/python3 escape.py >"$work/tried" 2>&1
	is "as $user: every call has the errno that it should have" 0 "$(grep -c WRONG "$work/tried")"
	attempts >"$work/recorded"
	is "as $user: one record for each, in order, of its process" "$(cat "$work/tried")" "$(cat "$work/recorded")"
	is "as $user: more than one process tried" 2 "$(cut -f1 "$work/recorded" | sort -u | wc -l)"
	check "as $user: counts add up, nothing is lost" counts_add_up --lossless
done

check 'a line of replay says what, with what and why' sh -c "
	$bin/vitrine replay last --state $state --kind attempt |
		grep -q 'refused: socket family=AF_PACKET,type=3,protocol=768: EPERM  a family that programs do without'"

# What a policy denies beyond the table.
cat >"$work/workspace/denied.py" <<-'PYTHON'
	import ctypes, os
	libc = ctypes.CDLL(None, use_errno=True)
	for number, arguments in [(42, (0, 0, 0)), (90, (0, 0o600)), (41, (1, 1, 0)), (41, (17, 3, 0)), (49, (0, 0, 0))]:
	    libc.syscall(number, *arguments)
	    print(os.getpid(), number, ctypes.get_errno())
PYTHON
echo '{"seccomp_deny": ["connect", "chmod", "socket"]}' >"$work/policy.json"
run --quiet --policy "$work/policy.json" --workspace "$work/workspace" -- /usr/bin/python3 denied.py >"$work/tried" 2>&1
is 'a denied call fails, the next one does not' '42 1 90 1 41 1 41 1 49 88' "$(cut -d' ' -f2- "$work/tried" | xargs)"
attempts >"$work/recorded"
is 'and each is recorded' 'connect chmod socket socket' "$(cut -f2 "$work/recorded" | xargs)"
is 'with the policy as the reason, or what is refused to all' 3 "$(replay --kind attempt | grep -c 'the policy of the session denies it')"
is 'the policy in force says so' '["connect", "chmod", "socket"]' "$(replay --kind session.start | python3 -c '
import json, sys
print(json.dumps(json.loads(sys.stdin.readline())["policy"]["seccomp_deny"]))')"
check 'counts add up, nothing is lost' counts_add_up --lossless

# What a policy allows: the call gets to the kernel, whose own answer is no attempt, and all else is as it was.
cat >"$work/workspace/allowed.py" <<-'PYTHON'
	import ctypes, os, time
	libc = ctypes.CDLL(None, use_errno=True)
	child = os.fork()
	if child == 0:
	    time.sleep(60)
	seize, detach = 0x4206, 17
	ok = libc.syscall(101, seize, child, 0, 0)
	print(ok, libc.syscall(101, detach, 999999, 0, 0), ctypes.get_errno(), libc.syscall(101, seize, 1, 0, 0), ctypes.get_errno())
	libc.syscall(312, child, child, 0, 0, 0)
	print(ctypes.get_errno())
	os.kill(child, 9)
PYTHON
echo '{"seccomp_allow": ["ptrace"]}' >"$work/policy.json"
run --quiet --policy "$work/policy.json" --workspace "$work/workspace" -- /usr/bin/python3 allowed.py >"$work/tried" 2>&1
is 'a process of its own can be traced, init cannot, what is not allowed is refused' '0 -1 3 -1 1 1' "$(xargs <"$work/tried")"
attempts >"$work/recorded"
is 'only that is an attempt' kcmp "$(cut -f2 "$work/recorded" | xargs)"
is 'what is allowed stands in the record' '["ptrace"]' "$(replay --kind session.start | python3 -c '
import json, sys
print(json.dumps(json.loads(sys.stdin.readline())["policy"]["seccomp_allow"]))')"
echo '{"seccomp_allow": ["io_uring_setup"]}' >"$work/policy.json"
check 'most cannot be allowed' sh -c "! $bin/vitrine run --quiet --state $state --policy $work/policy.json -- true 2>$work/err && grep -q 'prints as allowable' $work/err"

# A flood of refusals loses nothing, and no other record, when the session waits for its record.
cat >"$work/workspace/flood.py" <<-'PYTHON'
	import ctypes, os, sys
	libc = ctypes.CDLL(None)
	for i in range(40000):
	    libc.syscall(165, 0, 0, 0, 0, 0)
	    if i % 4000 == 0 and os.fork() == 0:
	        os.execv("/bin/true", ["/bin/true", str(i)])
	for _ in range(10):
	    os.wait()
PYTHON
run --quiet --workspace "$work/workspace" -- /usr/bin/python3 flood.py >/dev/null 2>&1
is 'of 40,000 refused calls each is recorded' 40000 "$(replay --kind attempt | wc -l)"
is 'and so is every program that ran meanwhile' 10 "$(replay --kind process.exec | grep -c '"/bin/true"')"
check 'counts add up, nothing is lost' counts_add_up --lossless

# Where loss is only counted, a flood may lose refusals, but no program.
run --quiet --on-loss count --workspace "$work/workspace" -- /usr/bin/python3 flood.py >/dev/null 2>&1
is 'every program is recorded where loss is counted' 10 "$(replay --kind process.exec | grep -c '"/bin/true"')"
check 'counts add up' counts_add_up

done_testing
