#!/bin/sh
# Ten million records of one session: a first page, a filter over all of it, and the index, in memory that does not grow
# with them; and the index hides nothing. How long each took is told, not tested.
. "$(dirname "$0")/../e2e/lib.sh"
records=${RECORDS:-10000000}

# measured NAME COMMAND...: its output in $work/out; fails if it needs more than 64 MiB.
measured() {
	python3 - "$work/out" "$@" >"$work/figures" 2>"$work/log" <<-'PYTHON'
		import resource, subprocess, sys, time
		begun = time.monotonic()
		with open(sys.argv[1], "wb") as out:
		    status = subprocess.run(sys.argv[3:], stdout=out, stderr=subprocess.DEVNULL).returncode
		peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
		print(f"# {sys.argv[2]}: {time.monotonic() - begun:.3f} s, {peak} MiB")
		sys.exit(status > 1 or peak > 64)
	PYTHON
	ok $? "$1: in 64 MiB"
	cat "$work/figures"
}

search() {
	name=$1
	shift
	measured "$name" "$bin/vitrine" search --state "$state" --limit 0 "$@"
}

check "a session of $records records" "$tests/bench-acts" "$state" aaaaaaaaaaaa "$records"
measured 'first page' sh -c '"$0" replay --state "$1" aaaaaaaaaaaa | head -50' "$bin/vitrine" "$state"
is 'it has 50 lines' 50 "$(wc -l <"$work/out")"

search 'all of it read' --no-index argv~drop.example
cp "$work/out" "$work/want"
check 'what was sought is found' test -s "$work/want"
search 'the index made' argv~drop.example
check 'which changes nothing' cmp "$work/want" "$work/out"
search 'by the index' argv~drop.example
check 'nor does its use' cmp "$work/want" "$work/out"
check 'the index is small' test "$(du -sk "$state/search.index" | cut -f1)" -lt $((records / 250))

for filter in 'net.dst:10.3.9.7 port:8443' 'path:/workspace/src/part007/unit00* kind:modify' 'exit:1 kind:exit proc~7-7'; do
	search "without: $filter" --no-index "$filter"
	cp "$work/out" "$work/want"
	search "with: $filter" "$filter"
	check "the same: $filter" cmp "$work/want" "$work/out"
done

done_testing
