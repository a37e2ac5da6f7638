#!/bin/sh
# What it takes to find a few acts among very many: the records of one session, beside ausearch and jq on the same acts.
#
#   search.sh BIN_DIR TESTS_DIR [RECORDS [PEER_RECORDS [RUNS]]]
#
# The peers get a session of PEER_RECORDS (as a log of the kernel's audit, and as lines of JSON); theirs is a rate, too. Each
# figure is the median of RUNS. PEER_RECORDS=10000000 takes ausearch the better part of an hour, and 6 GB below $TMPDIR.
set -eu
bin=$1 tests=$2 records=${3:-10000000} peer_records=${4:-200000} runs=${5:-1}
work=$(mktemp -d "${TMPDIR:-/tmp}/vitrine-bench.XXXXXX")
trap 'rm -rf "$work"' EXIT

# measure NAME RECORDS COMMAND...: seconds, records a second, peak memory, and how many lines were found. Where FIRST
# names a file, the first time is written there, and the others are told as multiples of it, too.
measure() {
	python3 - "$runs" "$@" <<-'PYTHON'
		import os, resource, statistics, subprocess, sys, time
		runs, name, records, command = int(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4:]
		times = []
		for _ in range(runs):
		    begun = time.monotonic()
		    out = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL).stdout
		    times.append(time.monotonic() - begun)
		took = statistics.median(times)
		peak = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss // 1024
		ratio, first = "", os.environ.get("FIRST")
		if first and os.path.exists(first):
		    ratio = f" {took / float(open(first).read()):8.1f} x"
		elif first:
		    open(first, "w").write(str(took))
		print(f"  {name:<44} {took:9.3f} s {records / took / 1e6:10.2f} M records/s {peak:6} MiB {out.count(10):5} lines{ratio}", flush=True)
	PYTHON
}

"$tests/bench-acts" "$work/long" aaaaaaaaaaaa "$records"
"$tests/bench-acts" "$work/peer" bbbbbbbbbbbb "$peer_records" "$work/audit.log"
"$bin/vitrine" replay --state "$work/peer" --json bbbbbbbbbbbb >"$work/acts.jsonl"
echo "one session of $records records, $(du -sm "$work/long/sessions" | cut -f1) MiB"
search="$bin/vitrine search --state $work/long"
first='sh -c'
# shellcheck disable=SC2086 disable=SC2016
{
	measure 'first page of a replay' "$records" $first '"$0" replay --state "$1" aaaaaaaaaaaa | head -50' "$bin/vitrine" "$work/long"
	measure 'replay --filter, all records' "$records" "$bin/vitrine" replay --state "$work/long" --filter argv~drop.example aaaaaaaaaaaa
	measure 'search, all records read' "$records" $search --no-index argv~drop.example
	measure 'search, index made meanwhile' "$records" $first 'rm -f "$1/search.index"; exec "$0" search --state "$1" argv~drop.example' "$bin/vitrine" "$work/long"
	measure 'search, with the index' "$records" $search argv~drop.example
	measure 'search, what is nowhere' "$records" $search no-such-word-in-it
	measure 'search, first 50 of many' "$records" $search --limit 50 path~part00
	measure 'search, a number in all of it' "$records" $search --limit 0 'kind:connect port:8443 not net.dst:10.0.0.0/8'
}
echo "index: $(du -sk "$work/long/search.index" | cut -f1) KiB"
echo "the same acts, $peer_records records: audit log $(du -sm "$work/audit.log" | cut -f1) MiB, JSON lines $(du -sm "$work/acts.jsonl" | cut -f1) MiB"
export FIRST="$work/first"
measure 'vitrine search, all records read' "$peer_records" "$bin/vitrine" search --state "$work/peer" --no-index exe.path:/usr/bin/curl
measure 'jq select(.exe.path == ...)' "$peer_records" jq -c 'select(.exe.path? == "/usr/bin/curl")' "$work/acts.jsonl"
measure 'ausearch -x /usr/bin/curl' "$peer_records" ausearch -if "$work/audit.log" -x /usr/bin/curl --raw
