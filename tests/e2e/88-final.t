#!/bin/sh
# What a session leaves behind, as the record has it: size and hash of each file that is not as it was, and what of
# that no record explains.
. "$(dirname "$0")/lib.sh"
need_root

# finals: file.final records of the last session, as "PATH CHANGE TYPE SIZE_BEFORE>SIZE HASH".
look='
import json, sys
for line in sys.stdin:
    e = json.loads(line)
    before, size = e.get("size_before", "-"), e.get("size", "-")
    print(e["path"], e["change"], e.get("file_type", "-"), f"{before}>{size}", "hash" if "sha256" in e else e.get("unhashed", "-"))
'
finals() {
	replay --kind file.final | python3 -c "$look"
}

unexplained() {
	replay --kind session.end | python3 -c 'import json, sys; print(json.load(sys.stdin)["unexplained"]["count"])'
}

# ---- each change, and both ends of it ----

mkdir "$work/workspace"
echo old >"$work/workspace/kept"
echo old >"$work/workspace/removed"
chown -R 1000:1000 "$work/workspace"
run --user root --workspace "$work/workspace" -- /bin/sh -c '
	echo more >>/etc/hosts; chmod 700 /mnt; rmdir /srv; rm -r /var/cache; mkdir /var/cache
	cd /tmp; mkdir -p a/b; echo hello >a/b/f; mv a c; ln c/b/f g; ln -s c l; mkfifo p; echo gone >t; rm t
	truncate -s 1T huge; cp /etc/passwd /dev/shm/copy; touch /etc/hostname
	cd /workspace; echo new >made; echo more >>kept; rm removed
	stat -c "%d %i" /tmp/g' >"$work/stat" 2>/dev/null || exit 1
cat >"$work/want" <<-'WANT'
	/dev/shm/copy created regular ->S hash
	/etc/hostname none regular S>S hash
	/etc/hosts modified regular S>S hash
	/mnt attributes directory ->- -
	/srv deleted - ->- -
	/tmp/c created directory ->- -
	/tmp/c/b created directory ->- -
	/tmp/c/b/f created regular ->S hash
	/tmp/g created regular ->S hash
	/tmp/huge created regular ->S too_large
	/tmp/l created symlink ->- -
	/tmp/p created fifo ->- -
	/var/cache replaced directory ->- -
	/workspace/kept modified regular ->S hash
	/workspace/made created regular ->S hash
	/workspace/removed deleted - ->- -
WANT
finals | LC_ALL=C sort | sed 's/[0-9][0-9]*>/S>/; s/>[0-9][0-9]*/>S/' >"$work/have"
is 'each file that is not as the session found it, and nothing else' "$(cat "$work/want")" "$(cat "$work/have")"
is 'its records explain all of it' 0 "$(unexplained)"

replay --kind file.final >"$work/finals"
check 'hashes, sizes, owners, device and inode are true' python3 - "$work" <<-'PYTHON'
	import hashlib, json, sys
	work = sys.argv[1]
	files = {e["path"]: e for e in map(json.loads, open(work + "/finals"))}
	sha = lambda data: hashlib.sha256(data).hexdigest()
	dev, ino = map(int, open(work + "/stat").read().split())
	g, f = files["/tmp/g"], files["/tmp/c/b/f"]
	assert (g["dev"], g["ino"], g["size"], g["uid"], g["sha256"]) == (dev, ino, 6, 0, sha(b"hello\n")), g
	assert (f["ino"], f["sha256"]) == (g["ino"], g["sha256"]), f
	hosts = files["/etc/hosts"]
	assert hosts["size"] == hosts["size_before"] + 5 and hosts["sha256"] != hosts["sha256_before"], hosts
	name = files["/etc/hostname"]
	assert name["sha256"] == name["sha256_before"] == sha((g["session"] + "\n").encode()), name
	assert files["/workspace/kept"]["sha256"] == sha(b"old\nmore\n")
	assert files["/mnt"]["mode"] == 0o700 and files["/mnt"]["mode_before"] == 0o755
	assert files["/tmp/l"]["target"] == "c"
	assert all(e["explained"] for p, e in files.items() if not p.startswith("/workspace"))
PYTHON
check 'the record verifies' "$bin/vitrine" verify --state "$state" last
check 'vitrine files tells them' sh -c '"$1" files --state "$2" last >"$3" &&
	grep -q "^created .*/tmp/c/b/f .*sha256 5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03" "$3" &&
	grep -q "^modified .*/etc/hosts .* -> .*, was [0-9a-f]" "$3"' - "$bin/vitrine" "$state" "$work/log"
check 'and a search by hash finds it' sh -c '"$1" search --state "$2" \
	sha256:5891b5b522d5df086d0ff0b110fbd9d21bb4fc7163af34d08286a2e846f6be03 | grep -q /tmp/c/b/f' - "$bin/vitrine" "$state"

# ---- ordinary work: all of it explained ----

cat >"$work/work.sh" <<-'WORK'
	set -e
	export HOME=/tmp/home GIT_AUTHOR_NAME=a GIT_AUTHOR_EMAIL=a@b GIT_COMMITTER_NAME=a GIT_COMMITTER_EMAIL=a@b
	mkdir -p /tmp/home /tmp/src && cd /tmp/src
	for i in $(seq 60); do echo "int f$i(void) { return $i; }" >"f$i.c"; done
	echo 'int main(void) { return 0; }' >main.c
	printf 'prog: $(patsubst %%.c,%%.o,$(wildcard *.c))\n\tgcc -o $@ $^\n' >Makefile
	make -j4 prog
	git init -q . && git add . && git commit -qm one && git gc -q && git clone -q . /tmp/clone
	git checkout -q -b other && git rm -q f1.c && git commit -qm two
	python3 -m venv --without-pip /tmp/venv && /tmp/venv/bin/python -m compileall -q /tmp/venv >/dev/null
	cp -r /tmp/src /tmp/copy && mv /tmp/copy /dev/shm/moved && mv /dev/shm/moved/.git /dev/shm/moved/git
	tar cf /tmp/all.tar -C /tmp clone && mkdir /tmp/out && tar xf /tmp/all.tar -C /tmp/out && rm -rf /tmp/clone
	sed -i s/agent/AGENT/ /tmp/src/Makefile; find /tmp/out -name '*.o' -delete
	dd if=/dev/zero of=/tmp/zeros bs=64k count=16 2>/dev/null; gzip /tmp/zeros; mkdir -p /tmp/x/y && rmdir /tmp/x/y
	python3 -c 'import sqlite3; c = sqlite3.connect("/tmp/db"); c.execute("create table t(a)"); c.commit()'
	mv /tmp/out/clone /tmp/out/clone2; ln /tmp/all.tar /tmp/second.tar; rm /tmp/all.tar
WORK
for user in agent root; do
	if ! command -v git >/dev/null || ! command -v gcc >/dev/null || ! command -v make >/dev/null; then
		ok 0 "ordinary work as $user # SKIP needs git, gcc and make"
		continue
	fi
	run --user $user -- /bin/sh -c "$(cat "$work/work.sh")" >"$work/log" 2>&1
	ok $? "a build, a clone, an environment and trees that move, as $user"
	is 'are explained' 0 "$(unexplained)"
	check 'and are many' test "$(finals | wc -l)" -gt 300
done
# ---- names and trees that bite ----

run -- /usr/bin/python3 -c '
import os
os.chdir("/tmp")
os.mkdir(b"new\nline"); open(b"new\nline/\xff\xfe", "w").write("x")
os.symlink("/etc", "loop"); os.symlink("loop2", "loop2"); os.symlink("/proc/1/root", "out")
for i in range(2000):
    os.mkdir("d"); os.chdir("d")
open("deep", "w").write("deep")
os.chdir("/dev/shm")
for i in range(3000):
    open(str(i), "w").write(str(i))
' >/dev/null 2>&1 || exit 1
is 'deep, many and badly named: all explained' 0 "$(unexplained)"
replay --kind file.final >"$work/finals"
check 'and all told' python3 - "$work/finals" <<-'PYTHON'
	import base64, json, sys
	events = list(map(json.loads, open(sys.argv[1])))
	assert sum(e["path"].startswith("/dev/shm/") for e in events) == 3000
	assert sum(e["file_type"] == "directory" for e in events) == 2001
	assert any(base64.b64decode(e["path_b64"]) == b"/tmp/new\nline/\xff\xfe" for e in events if "path_b64" in e)
	deep = [e for e in events if e["path"].endswith("/d/deep")]
	assert len(deep) == 1 and deep[0]["size"] == 4
	links = {e["path"]: e["target"] for e in events if e["file_type"] == "symlink"}
	assert links == {"/tmp/loop": "/etc", "/tmp/loop2": "loop2", "/tmp/out": "/proc/1/root"}, links
PYTHON

# ---- secrets ----

TOKEN=correct-horse-battery run --secret TOKEN=env:TOKEN -- /bin/sh -c '
	echo "$TOKEN" >/tmp/raw; echo "$TOKEN" | base64 >/tmp/coded; echo "$TOKEN" | gzip >/tmp/packed; echo none >/tmp/none
	(head -c 300000 /dev/zero; echo "$TOKEN") >/tmp/late' >/dev/null 2>&1 || exit 1
is 'a file with a secret in it has no hash' "/tmp/coded secret
/tmp/late secret
/tmp/none hash
/tmp/packed hash
/tmp/raw secret" "$(finals | cut -d' ' -f1,5 | LC_ALL=C sort)"

# ---- what the witness has not seen ----

# Who is at work from outside leaves no record: what he plants, changes, and takes away has to show.
mkfifo "$work/go"
run -- /bin/sh -c 'echo mine >/tmp/mine; echo mine >/tmp/taken; echo mine >/tmp/bent; : vitrine-test-planted; read -r _' \
	<"$work/go" >/dev/null 2>&1 &
session=$!
exec 5>"$work/go"
for _ in $(seq 100); do
	pid=$(pgrep -f '^/bin/sh -c echo mine .*vitrine-test-planted') && [ -e "/proc/$pid/root/tmp/bent" ] && break
	sleep 0.1
done
root=/proc/$pid/root
echo planted >"$root/tmp/planted"
mkdir "$root/var/planted"
rm "$root/tmp/taken"
mv "$root/tmp/bent" "$root/tmp/moved"
rmdir "$root/opt"
echo >&5
exec 5>&-
wait $session
replay --kind session.end >"$work/end"
is 'what is planted, taken away and moved from outside is not explained' '/opt no_record
/tmp/bent missing
/tmp/moved no_record
/tmp/planted no_record
/tmp/taken missing
/var/planted no_record
6' "$(python3 -c '
import json, sys
told = json.load(open(sys.argv[1]))["unexplained"]
print("\n".join(sorted(n["path"] + " " + n["why"] for n in told["names"])))
print(told["count"])' "$work/end")"
check 'the page of a session says so' sh -c '"$1" show --state "$2" last | grep -q "6 changes that no record explains"' - \
	"$bin/vitrine" "$state"
check 'vitrine files marks each' sh -c '"$1" files --state "$2" last | grep -q "/tmp/planted .*no record explains it"' - \
	"$bin/vitrine" "$state"
check 'and the report' sh -c '"$1" report --state "$2" --format md last -o "$3" && grep -q "6 changes that no record explains" "$3"' - \
	"$bin/vitrine" "$state" "$work/report.md"

# ---- what is asked for ----

echo '{"final": "meta"}' >"$work/meta.json"
run --policy "$work/meta.json" -- /bin/sh -c 'echo x >/tmp/x' >/dev/null 2>&1 || exit 1
is 'without hashes' '/tmp/x created regular ->2 off' "$(finals)"
echo '{"final": "off"}' >"$work/off.json"
run --policy "$work/off.json" -- /bin/sh -c 'echo x >/tmp/x' >/dev/null 2>&1 || exit 1
is 'or not at all' '' "$(finals)"
is 'then nothing is said of what is unexplained' '{}' "$(replay --kind session.end | python3 -c '
import json, sys
print({k: v for k, v in json.load(sys.stdin).items() if k in ("final", "unexplained")})')"
echo '{"final_files": 3, "final_bytes": 10}' >"$work/cut.json"
run --policy "$work/cut.json" -- /bin/sh -c 'cd /tmp; for i in 1 2 3 4 5; do echo 12345 >$i; done' >/dev/null 2>&1 || exit 1
is 'what is past a cap is counted' 'cut 3 2 1' "$(replay --kind session.end | python3 -c '
import json, sys
final = json.load(sys.stdin)["final"]
print(final["state"], final["found"], final["left_out"]["files"])') $(finals | grep -c 'hash$')"

run -- /bin/true >/dev/null 2>&1 || exit 1
is 'a session that changes nothing leaves nothing' '' "$(finals)"
is 'and says so' 0 "$(unexplained)"

# ---- who looks may die ----

"$bin/vitrined" --state "$state" --socket "$work/socket" 2>"$work/daemon.log" &
daemon=$!
until [ -S "$work/socket" ]; do
	kill -0 $daemon 2>/dev/null || break
	sleep 0.1
done
looks() {
	"$bin/vitrine" run --quiet --socket "$work/socket" -- /bin/sh -c 'echo x >/tmp/x' >/dev/null 2>&1
	finals
}
kill_now() {
	kill -9 "$1"
	until ! grep -q '^State:.[^ZX]' "/proc/$1/status" 2>/dev/null; do
		sleep 0.05
	done
}
looker=$(pgrep -P $daemon -f vitrine-final)
kill_now "$(pgrep -P "$looker")"
is 'the child that waits is replaced' '/tmp/x created regular ->2 hash' "$(looks)"
waits=$(pgrep -P "$looker")
kill_now "$looker"
kill_now "$waits" 2>/dev/null # it dies with its parent
is 'and so is what starts it' '/tmp/x created regular ->2 hash' "$(looks)"
kill $daemon
wait $daemon

done_testing
