#!/bin/sh
# Root file systems of one's own: templates by name and directories, what a session sees of them, and what its record says.
. "$(dirname "$0")/lib.sh"
need_root

vitrine=$bin/vitrine
template() {
	"$vitrine" template --state "$state" "$@"
}

# A root of a few programs of the host, with what they are linked with.
tree=$work/tree
mkdir -p "$tree/bin" "$tree/etc" "$tree/secret"
for program in sh cat id ls touch stat sleep; do
	real=$(realpath "$(command -v $program)")
	cp "$real" "$tree/bin/$program"
	ldd "$real" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$tree$(dirname "$library")"
		cp -L "$library" "$tree$library"
	done
done
echo 'root:x:0:0::/root:/bin/sh' >"$tree/etc/passwd"
echo ours >"$tree/secret/root-only"
chmod 600 "$tree/secret/root-only"
echo theirs >"$tree/secret/of-33"
chown 33:33 "$tree/secret/of-33"
# Places that the session mounts at, as links that lead out.
ln -s /etc "$tree/proc"
ln -s / "$tree/workspace"
ln -s ../../../../../etc "$tree/dev"
ln -s /../../etc/shadow "$tree/etc/group"
mkfifo "$tree/pipe"
ln "$tree/bin/cat" "$tree/bin/cat-again"
python3 -c 'import os, sys; os.setxattr(sys.argv[1], "user.note", b"hello")' "$tree/bin/ls"
before=$(find "$tree" -printf '%p %m %U %T@ %l\n' | sort)

digest=$(template --json add box "$tree" | sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/')
is 'a template has a digest' 64 "${#digest}"
is 'and is listed with it' "box sha256:$digest" "$(template ls | awk '{print $1, $2}')"
# The same by another hand, from what template_digest.h says.
cat >"$work/digest.py" <<-'PYTHON'
	import hashlib, os, stat, struct, sys
	def walk(root, rel):
	    yield rel
	    p = os.path.join(root, rel)
	    if stat.S_ISDIR(os.lstat(p).st_mode):
	        for n in sorted(os.listdir(os.fsencode(p))):
	            n = os.fsdecode(n)
	            yield from walk(root, n if rel == "." else rel + "/" + n)
	skip = ("security.selinux", "security.SMACK64", "security.apparmor", "security.ima", "security.evm", "trusted.", "system.nfs", "btrfs.")
	h = hashlib.sha256()
	seen = {}
	root = sys.argv[1]
	for rel in walk(root, "."):
	    p = os.path.join(root, rel)
	    st = os.lstat(p)
	    m = st.st_mode
	    first = None
	    if stat.S_ISREG(m) and st.st_nlink > 1:
	        first = seen.get(st.st_ino)
	        seen.setdefault(st.st_ino, rel)
	    t = "h" if first else {stat.S_IFREG: "f", stat.S_IFDIR: "d", stat.S_IFLNK: "l", stat.S_IFIFO: "p", stat.S_IFCHR: "c", stat.S_IFBLK: "b", stat.S_IFSOCK: "s"}[stat.S_IFMT(m)]
	    h.update(t.encode() + struct.pack("<HII", stat.S_IMODE(m), st.st_uid, st.st_gid) + os.fsencode(rel) + b"\0")
	    if first:
	        h.update(os.fsencode(first) + b"\0")
	        continue
	    if t == "f":
	        d = open(p, "rb").read()
	        h.update(struct.pack("<Q", len(d)) + hashlib.sha256(d).digest())
	    elif t == "l":
	        h.update(os.fsencode(os.readlink(p)) + b"\0")
	    elif t in "cb":
	        h.update(struct.pack("<Q", st.st_rdev))
	    for n in sorted(os.listxattr(p, follow_symlinks=False)):
	        if n.startswith(skip):
	            continue
	        v = os.getxattr(p, n, follow_symlinks=False)
	        h.update(n.encode() + b"\0" + struct.pack("<I", len(v)) + v)
	    h.update(b"\0")
	print(h.hexdigest())
PYTHON
is 'it is what it is said to be' "$(python3 "$work/digest.py" "$tree")" "$digest"
cp -a "$tree" "$work/twin"
is 'a copy of the tree has the same' "$digest" "$(template --json add twin "$work/twin" | sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/')"
is 'a second of the name is refused' 1 "$(template add box "$tree" >/dev/null 2>"$work/err"; echo $?)"
is 'with what to do' 1 "$(grep -c -- '--replace' "$work/err")"

mkdir "$work/work"
chown 1000:1000 "$work/work"
inside='id -u; ls /usr/bin 2>/dev/null; cat /etc/passwd; cat /proc/self/mountinfo >/tmp/m && echo proc; touch /workspace/x && echo workspace
	cat /secret/root-only; stat -c %u /secret/of-33; touch /bin/new && echo written'
for user in agent root; do
	run --quiet --user $user --rootfs box --workspace "$work/work" -- sh -c "$inside" >"$work/out.$user" 2>/dev/null
done
is 'agent: the user is known, mounts are where they belong, what is root'"'"'s is not read' \
	"1000
root:x:0:0::/root:/bin/sh
agent:x:1000:1000:agent:/home/agent:/bin/sh
proc
workspace
33" "$(cat "$work/out.agent")"
is 'root of the session: reads and writes what is its own' \
	"0
root:x:0:0::/root:/bin/sh
agent:x:1000:1000:agent:/home/agent:/bin/sh
proc
workspace
ours
33
written" "$(cat "$work/out.root")"
is 'the record says which template, and what it was' "box $digest" "$(replay --kind session.start | python3 -c '
import json, sys
t = json.loads(sys.stdin.readline())["template"]
print(t["name"], t["digest"])')"
check 'of what the session made there is a record' sh -c "$vitrine replay --state $state --json last --kind file.create | grep -q '\"path\":\"/bin/new\"'"
check 'counts add up, nothing is lost' counts_add_up --lossless
is 'no session changed the template' "$digest" "$(template --json check box | sed 's/.*"digest":"\([0-9a-f]*\)".*/\1/')"

run --quiet --rootfs "$tree" -- cat /etc/passwd >/dev/null
is 'a directory is as good' "$tree $digest" "$(replay --kind session.start | python3 -c '
import json, sys
t = json.loads(sys.stdin.readline())["template"]
print(t["name"], t["digest"])')"
is 'and nothing in it changed' "$before" "$(find "$tree" -printf '%p %m %U %T@ %l\n' | sort)"
echo '{"rootfs": "box"}' >"$work/policy.json"
is 'a policy may name it' 0 "$(run --quiet --policy "$work/policy.json" -- sh -c 'test ! -e /usr/bin/python3'; echo $?)"

# What is refused, and how.
refused() {
	want=$1
	shift
	run --quiet "$@" -- id >"$work/log" 2>&1
	[ $? -eq 125 ] && grep -q -- "$want" "$work/log"
	ok $? "refused: $want"
}
refused 'there is no template nothing; add it' --rootfs nothing
refused 'is the root of the host' --rootfs /
refused 'No such file' --rootfs ./nowhere
refused 'bad value; allowed: "host", the name of a template' --rootfs -x
chown 70000 "$work/twin/bin/ls"
refused 'bin/ls: its owner is none of the 65536 ids' --rootfs "$work/twin"
echo more >>"$state/templates/twin/root/etc/passwd"
refused 'changed after it was added' --rootfs twin
is 'check finds it too' 3 "$(template check twin >/dev/null 2>&1; echo $?)"

# What was there before is what the template has.
sum() {
	sha256sum <"$state/templates/box/root/$1" | cut -d' ' -f1
}
run --quiet --user root --rootfs box -- sh -c 'echo more >>/secret/root-only; : >/bin/ls; touch /bin/id' 2>/dev/null
is 'the record has hashes of the template, and what became of it' "/bin/id none $(sum bin/id) $(sum bin/id)
/bin/ls modified $(sum bin/ls) $(printf '' | sha256sum | cut -d' ' -f1)
/secret/root-only modified $(sum secret/root-only) $( (echo ours; echo more) | sha256sum | cut -d' ' -f1)" \
	"$(replay --kind file.final | python3 -c '
import json, sys
for e in sorted(map(json.loads, sys.stdin), key=lambda e: e["path"]):
    if e["file_type"] == "regular":
        print(e["path"], e["change"], e["sha256_before"], e["sha256"])')"
is 'all of it explained' 0 "$(replay --kind session.end | python3 -c 'import json, sys; print(json.load(sys.stdin)["unexplained"]["count"])')"

"$vitrine" run --state "$state" --quiet --rootfs box -- sleep 60 &
client=$!
for _ in $(seq 100); do
	"$vitrine" ps --state "$state" 2>/dev/null | grep -q running && break
	sleep 0.1
done
is 'what a session uses is not removed' 1 "$(template rm box 2>"$work/err"; echo $?)"
is 'and the error says so' 1 "$(grep -c 'a session uses it' "$work/err")"
kill $client
wait $client 2>/dev/null
is 'afterwards it is' 0 "$(template rm box; echo $?)"
template rm twin
is 'nothing is left of them' '' "$(find "$state/templates" -mindepth 1 ! -path '*/.paths*')"

done_testing
