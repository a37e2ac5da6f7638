#!/bin/sh
# What vitrine doctor says of a host that has all, of hosts that lack something, and that it leaves no trace.
. "$(dirname "$0")/lib.sh"
need_root

mkdir "$work/workspace"

doctor() {
	"$bin/vitrine" doctor --state "$state" "$@"
}

# finding NAME [FIELD]: of what the last doctor wrote to $work/found.
finding() {
	python3 - "$work/found" "$1" "${2:-state}" <<-'PYTHON'
		import json, sys
		checks = {c["name"]: c for c in json.load(open(sys.argv[1]))["checks"]}
		print(checks[sys.argv[2]].get(sys.argv[3], ""))
	PYTHON
}

# has_mend NAME CHECK WORDS
has_mend() {
	finding "$2" mend >"$work/log"
	grep -q "$3" "$work/log" && ok 0 "$1" || ok 1 "$1"
}

# In mounts of its own: COMMAND, then doctor. Leaves its exit status in $status.
doctor_where() {
	unshare -m sh -c "$1"'; shift; exec "$@"' sh sh "$bin/vitrine" doctor --state "$state" --json "$work/workspace" \
		>"$work/found" 2>"$work/log" && status=0 || status=$?
}

doctor --json "$work/workspace" >"$work/found" 2>"$work/log" && status=0 || status=$?
is 'this host can run sessions' 0 "$status"
is 'each thing is looked at' \
	'kernel programs btf sensors cgroups controllers namespaces idmap overlay fanotify seccomp landlock disk clock' \
	"$(python3 -c 'import json, sys; print(*[c["name"] for c in json.load(open(sys.argv[1]))["checks"]])' "$work/found")"
for name in kernel programs btf sensors cgroups namespaces overlay seccomp; do
	is "$name is there" ok "$(finding $name)"
done
check 'what is not ok says what is lost or how to mend it' python3 -c '
import json, sys
for c in json.load(open(sys.argv[1]))["checks"]:
    assert c["found"], c
    assert c["state"] == "ok" or c.get("lost") or c.get("mend"), c
    assert (c["state"] == "degraded") == ("lost" in c), c' "$work/found"
doctor "$work/workspace" >"$work/text"
is 'the text has the same states' "$(python3 -c '
import json, sys
print(*[c["state"] + " " + c["name"] for c in json.load(open(sys.argv[1]))["checks"]], sep="\n")' "$work/found")" \
	"$(awk '/^[a-z]/ {print $1, $2}' "$work/text")"

# The same before each session, with the state directory for a workspace.
run --quiet -- true
doctor --json "$state" >"$work/found"
replay --kind session.start >"$work/start"
check 'a session'"'"'s record has what is not ok, and the digest' python3 -c '
import hashlib, json, sys
start, found = json.load(open(sys.argv[1])), json.load(open(sys.argv[2]))
assert start["degraded"] == [c["name"] for c in found["checks"] if c["state"] != "ok"], start["degraded"]
lines = "".join(c["state"] + " " + c["name"] + "\n" for c in found["checks"])
assert start["doctor_sha256"] == found["sha256"] == hashlib.sha256(lines.encode()).hexdigest(), found["sha256"]' "$work/start" "$work/found"
rm -rf "$state" "$state".*

# No trace.
# In a namespace of its own, where no other program mounts anything meanwhile.
unshare -m sh -c 'cat /proc/self/mountinfo; echo then; "$@" >/dev/null; cat /proc/self/mountinfo' sh \
	"$bin/vitrine" doctor --state "$state" "$work/workspace" >"$work/mounts"
is 'no mount is left' "$(sed '/^then$/,$d' "$work/mounts")" "$(sed '1,/^then$/d' "$work/mounts")"
is 'no state directory was made' '' "$(ls "$state" 2>/dev/null)"
is 'nothing is in the workspace' '' "$(ls -A "$work/workspace")"
if command -v strace >/dev/null; then
	strace -f -qq -o "$work/trace" -e trace=mkdir,mkdirat,open,openat,creat,rename,unlink,unlinkat,bpf,kill,chmod,fchmod,link,symlink \
		"$bin/vitrine" doctor --state "$state" "$work/workspace" >/dev/null 2>&1
	is 'directories are made in the file system of a child alone' '/tmp/lower /tmp/upper /tmp/work' \
		"$(sed -n 's/^[0-9]* *mkdir\(at\)\?([^"]*"\([^"]*\)".*= 0$/\2/p' "$work/trace" | sort -u | xargs)"
	is 'no file is made or written, but the ids of children' '' "$(grep -E 'O_CREAT|O_WRONLY|O_RDWR' "$work/trace" |
		grep -vE '"/proc/[0-9]+/(uid_map|gid_map|setgroups)"|"/dev/null"|ENOENT' || :)"
	# An iterator runs when it is read, and nowhere else.
	is 'no program of the sensors is attached or pinned' '' \
		"$(grep -E 'BPF_(LINK_CREATE|PROG_ATTACH|RAW_TRACEPOINT_OPEN|OBJ_PIN).*= [0-9]+$' "$work/trace" | grep -v 'attach_type=BPF_TRACE_ITER,' || :)"
	check 'but they were loaded' grep -q 'BPF_PROG_LOAD.*on_exec.*= [0-9]*$' "$work/trace"
fi

# Hosts that lack something.
doctor_where 'mount -t tmpfs none /sys/kernel/btf'
is 'without BTF no session runs' 1 "$status"
is 'and BTF is what is missing' missing "$(finding btf)"
has_mend 'with the mend' btf CONFIG_DEBUG_INFO_BTF=y
is 'and the sensors do not load' missing "$(finding sensors)"

doctor_where 'umount -l $(awk '"'"'$3 == "cgroup2" {print $2}'"'"' /proc/self/mounts)'
is 'without cgroup v2 no session runs' 1 "$status"
is 'and the hierarchy is what is missing' missing "$(finding cgroups)"
has_mend 'with the mend' cgroups 'mount -t cgroup2'

doctor_where "mkdir $state; mount -t tmpfs -o size=1m none $state"
rmdir "$state"
is 'without room for records no session runs as it has to' 1 "$status"
is 'and the disk is what is missing' missing "$(finding disk)"
# A session is refused with the same words.
unshare -m sh -c "mkdir $state; mount -t tmpfs -o size=1m,mode=755 none $state"'; shift; "$@"; echo "status $?"; ls "$0/sessions"' \
	"$state" sh "$bin/vitrine" run --quiet --state "$state" -- true >"$work/out" 2>"$work/err"
rmdir "$state"
is 'nor does one' 'status 125' "$(cat "$work/out")"
is 'which says what is missing, and the mend' 1 "$(grep -c 'disk: .* left: make room, or give another state directory' "$work/err")"
doctor_where "mkdir $state; mount -t tmpfs -o size=256m none $state"
rmdir "$state"
is 'little room is enough to run' 0 "$status"
is 'but degraded' degraded "$(finding disk)"

doctor --json /proc >"$work/found"
is 'a workspace whose ids cannot be mapped is named' degraded "$(finding idmap)"
doctor --json "$work/nowhere" >"$work/found"
is 'one that is not there too' degraded "$(finding idmap)"
"$bin/vitrine" doctor --state /proc/none --json "$work/workspace" >"$work/found" || :
is 'nor can a state directory keep templates there' degraded "$(finding idmap)"
check 'which is said' grep -q 'templates cannot be kept' "$work/found"

mkdir "$work/alone"
cp "$bin/vitrine" "$bin/vitrine-commands" "$work/alone/"
"$work/alone/vitrine" doctor --state "$state" --json >"$work/found" 2>/dev/null && status=0 || status=$?
is 'a client alone is not enough' '1 missing missing' "$status $(finding programs) $(finding sensors)"

setpriv --reuid 65534 --regid 65534 --clear-groups "$work/alone/vitrine" doctor --state "$state" --json >"$work/found" 2>/dev/null
is 'who is not root is told what was not tried' 'degraded degraded degraded' \
	"$(finding sensors) $(finding namespaces) $(finding overlay)"

done_testing
