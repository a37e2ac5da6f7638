#!/bin/sh
# Names that change while they are used, and a tree that the record alone has to rebuild.
. "$(dirname "$0")/lib.sh"
need_root
make_workspace

run --quiet --workspace "$workspace" -- /workspace/acts race=20000 >"$work/truth" 2>"$work/log"
ok $? '20,000 removals while another thread flips a byte of the name'
replay --kind file.delete >"$work/record"
check 'each record has the name that was removed, or says that it is what the call was given' python3 - "$work/truth" "$work/record" <<'END'
import json, sys
def text(value):
    return bytes.fromhex(value["hex"]).decode()
truth = [text(t["path"]) for t in map(json.loads, open(sys.argv[1])) if t["kind"] == "file.delete"]
record = [json.loads(line) for line in open(sys.argv[2])]
raced = sum(r["requested"] != t for t, r in zip(truth, record))
wrong = [(t, r) for t, r in zip(truth, record) if r["path_source"] == "kernel" and r["path"] != t]
proven = sum(r["path_source"] == "kernel" for r in record)
print(len(truth), "removed,", len(record), "recorded,", raced, "raced,", proven, "proven,", len(wrong), "wrong", wrong[:3])
sys.exit(0 if len(truth) == len(record) == 20000 and not wrong and raced and proven > 10000 else 1)
END
check 'nothing is lost' counts_add_up --lossless

for tool in git make gcc tar python3; do
	command -v $tool >/dev/null || { done_testing; exit; }
done
cat >"$workspace/work.sh" <<'END'
set -e
mkdir /tmp/w; cd /tmp/w
git config --global user.email a@example.org; git config --global user.name a
git init -q a; cd a
for i in 1 2 3 4 5 6 7 8 9 10; do mkdir d$i; echo $i >d$i/f; cp d$i/f d$i/g; done
git add .; git commit -qm one; echo x >>d1/f; git commit -qam two; git gc -q; cd ..
git clone -q a b; cd b; git mv d1 e1; git rm -q d2/f; git commit -qm three; cd ..
mkdir c; cd c
echo 'int f(int); int main(void) {return f(2);}' >m.c; echo 'int f(int x) {return x - 2;}' >f.c
printf 'p: m.o f.o\n\tgcc -o p m.o f.o\nclean:\n\trm -f *.o p\n' >Makefile
make -s; ./p; make -s clean; make -s; cd ..
tar cf t.tar a b c; mkdir x; tar xf t.tar -C x; rm -rf x/a x/b/.git
python3 -c '
import os, tempfile, shutil, mmap
os.makedirs("py/q/r")
for i in range(20):
    with tempfile.NamedTemporaryFile("w", dir="py", delete=False) as t:
        t.write("x" * i)
    os.replace(t.name, "py/f%d" % (i % 5))
with open("py/m", "wb+") as f:
    f.truncate(10000)
    m = mmap.mmap(f.fileno(), 10000)
    m[5:10] = b"hello"
    m.close()
shutil.copytree("py", "py2"); shutil.move("py2", "py3"); shutil.rmtree("py3/q")
os.link("py/f1", "py/h"); os.symlink("f1", "py/s"); os.rename("py/h", "py/h2"); os.unlink("py/f1")'
sed -i s/x/y/ c/f.c; echo a >c/out; : >c/m.c; mv c/out c/out2; mv c c2; cp -r c2 c3; mv c3/f.c b/
dd if=/dev/zero of=big bs=64k count=5 status=none; ln c2/out2 c2/out3; mv b b2; rm -rf a
find /tmp/w -type f -printf '%i %s %p\n'
END
run --quiet --workspace "$workspace" -- /bin/bash /workspace/work.sh >"$work/tree" 2>"$work/log"
ok $? 'git, make, tar, python and friends work'
replay >"$work/record"
check 'the record alone rebuilds the tree: every name, inode and size' python3 - "$work/tree" "$work/record" <<'END'
import json, sys
have, size = {}, {}
def below(path, directory):
    return path == directory or path.startswith(directory + "/")
for e in map(json.loads, open(sys.argv[2])):
    kind, path = e["kind"], e.get("path")
    if kind == "file.create" and not e.get("deleted"):
        have[path] = e["ino"]
    if kind in ("file.create", "file.open", "file.modify", "file.truncate") and "ino" in e:
        size[e["ino"]] = e.get("size", 0)
    if kind == "file.delete":
        have.pop(path, None)
    if kind == "file.link":
        have[e["new_path"]] = have[path]
    if kind == "file.rename":
        for old in [p for p in have if below(p, path)]:
            have[e["new_path"] + old[len(path):]] = have.pop(old)
    if kind in ("file.delete", "file.rename", "file.mkdir", "file.rmdir") and e["path_source"] != "kernel":
        print("not proven:", e)
want = {}
for line in open(sys.argv[1]):
    ino, length, path = line.rstrip("\n").split(" ", 2)
    want[path] = (int(ino), int(length))
got = {p: (i, size.get(i)) for p, i in have.items() if below(p, "/tmp/w")}
for path in sorted(set(want) | set(got)):
    if want.get(path) != got.get(path):
        print(path, "is", want.get(path), "and recorded as", got.get(path))
print(len(want), "files")
sys.exit(0 if want == got and len(want) > 50 else 1)
END
check 'nothing is lost' counts_add_up --lossless

done_testing
