#!/bin/sh
# A real build of at least 500 execs: the record's list of execs equals that of an independent tracer.
. "$(dirname "$0")/lib.sh"
need_root
for tool in strace gcc make; do
	command -v $tool >/dev/null || skip_all "needs $tool"
done

workspace=$work/workspace
mkdir "$workspace"
files=140
{
	echo 'SHELL := /bin/sh'
	echo "objects := \$(foreach n,\$(shell seq $files),f\$(n).o)"
	echo 'program: $(objects)'
	echo '	gcc -o $@ $(objects)'
	echo '%.o: %.c'
	echo '	test -n "$<" && gcc -O0 -c -o $@ $<'
} >"$workspace/Makefile"
echo 'int main(void) { return 0; }' >"$workspace/f1.c"
n=2
while [ $n -le $files ]; do
	echo "int f$n(int x) { return x + $n; }" >"$workspace/f$n.c"
	n=$((n + 1))
done
cp -r "$workspace" "$work/traced"
chown -R 1000:1000 "$workspace"

environment="PATH=/usr/bin:/bin HOME=/tmp LANG=C"
(cd "$work/traced" && env -i $environment strace -f -qq -e trace=execve -e signal=none -v -s 65536 -xx -o "$work/strace" make -j1 >"$work/log" 2>&1)
ok $? 'the build under strace'
run --quiet --workspace "$workspace" --env PATH=/usr/bin:/bin --env HOME=/tmp --env LANG=C -- make -j1 >"$work/log" 2>&1
ok $? 'the build in a session'
replay --kind process.exec >"$work/record"

cat >"$work/lists.py" <<-'PYTHON'
	import json, re, sys

	def steady(argument):
	    return re.sub(r"/tmp/cc[A-Za-z0-9]{6}", "/tmp/ccXXXXXX", argument)

	def from_strace(path):
	    """Successful execs; in lines split by another process the argument list stands in the first half."""
	    begun = {}
	    for line in open(path):
	        pid, rest = line.split(None, 1)
	        if rest.startswith("execve(") and "<unfinished" in rest:
	            begun[pid] = rest
	            continue
	        if "<... execve resumed>" in rest:
	            rest = begun.pop(pid) + rest
	        if not rest.startswith("execve(") or not rest.rstrip().endswith("= 0"):
	            continue
	        vector = rest[rest.index("[") + 1 : rest.index("]")]
	        yield [bytes.fromhex(a.replace("\\x", "")).decode() for a in re.findall(r'"((?:\\x[0-9a-f]{2})*)"', vector)]

	traced = sorted([steady(a) for a in argv] for argv in from_strace(sys.argv[1]))
	recorded = sorted([steady(a) for a in json.loads(line)["argv"]] for line in open(sys.argv[2]))
	print(len(traced), "traced,", len(recorded), "recorded")
	for argv in traced:
	    if argv not in recorded:
	        print("not recorded:", argv)
	sys.exit(0 if traced == recorded and len(traced) >= 500 else 1)
PYTHON
check 'the same execs, argument by argument' python3 "$work/lists.py" "$work/strace" "$work/record"
python3 "$work/lists.py" "$work/strace" "$work/record" | sed 's/^/# /'
done_testing
