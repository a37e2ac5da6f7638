#!/bin/sh
# The file sink: what it is told, whole lines, rotation, a full disk; and what every sink has: configuration, filters.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"

out=$work/out.jsonl
one=0123456789ab
two=fedcba987654
archive='{"name": "archive", "type": "file", "path": "'$out'", "rotate_bytes": 0, "include_output": true,
	"batch_count": 100, "batch_age_ms": 100}'

# ---- what is refused ----
refused() {
	printf '%s\n' "$2" >"$config"
	"$bin/vitrine-export" --config "$config" --check >"$work/log" 2>&1
	status=$?
	grep -q -- "$3" "$work/log" && [ $status -eq 1 ]
	ok $? "$1"
}
refused 'no JSON' '{"sinks": [' 'export.json:[12]: '
refused 'an unknown key, with its line' '{"sinks": [
	{"name": "a", "type": "file", "path": "/x", "pth": 1}]}' 'export.json:2: pth: 1: unknown key; allowed are: .*rotate_bytes'
refused 'a bad value, and what is allowed' '{"sinks": [{"name": "a", "type": "file", "path": "/x",
	"batch_count": 0}]}' 'export.json:2: batch_count: 0: bad value; allowed: an integer from 1 to'
refused 'an unknown type' '{"sinks": [{"name": "a", "type": "kafka"}]}' 'allowed: file, syslog, webhook'
refused 'no sinks' '{}' 'sinks: missing'
refused 'a missing key' '{"sinks": [{"name": "a", "type": "file"}]}' 'path: missing'
refused 'an unknown kind' '{"sinks": [{"name": "a", "type": "file", "path": "/x",
	"kinds": ["files"]}]}' 'export.json:2: kinds\[0\]: "files": no such kind'
refused 'two sinks of one name' '{"sinks": [{"name": "a", "type": "file", "path": "/x"},
	{"name": "a", "type": "file", "path": "/y"}]}' 'export.json:2: name: "a": bad value; another sink has it'
refused 'a secret that is not there' '{"sinks": [{"name": "a", "type": "hec", "url": "http://h",
	"token": {"env": "VITRINE_NO_SUCH"}}]}' 'export.json:2: token: $VITRINE_NO_SUCH is not set'

# ---- the plain way ----
configure "$archive"
last_one=$(journal $one 3000)
check '--check says yes to a good one' "$bin/vitrine-export" --config "$config" --check
start_exporter
check 'one session arrives' wait_until 10 settled archive
last_two=$(journal $two 2000 open)
check 'and another one that runs' wait_until 10 settled archive
last_two=$(journal $two 500 open)
check 'and goes on' wait_until 10 settled archive
stop_exporter
is 'SIGTERM ends it' 0 $?
check 'all are there, in order' whole "$out" $one "$last_one" $two "$last_two"
is 'none twice' $((last_one + last_two)) "$(wc -l <"$out")"
"$bin/vitrine" replay --state "$state" --json $one >"$work/replayed" 2>/dev/null
grep -F "\"session\":\"$one\"" "$out" >"$work/exported"
check 'a line is what replay --json prints' cmp "$work/replayed" "$work/exported"
start_exporter
sleep 1
stop_exporter
is 'started again it has nothing to do' $((last_one + last_two)) "$(wc -l <"$out")"

# ---- rotation ----
rm -rf "$state" "$directory" "$out"
configure '{"name": "archive", "type": "file", "path": "'"$out"'", "rotate_bytes": 100000, "include_output": true}'
last_one=$(journal $one 5000)
start_exporter
wait_until 10 settled archive
mv "$out" "$work/moved"
kill -HUP "$exporter"
last_two=$(journal $two 1000)
wait_until 10 settled archive
stop_exporter
! [ -e "$out.part" ] && [ "$(find "$work" -name 'out.jsonl.*.gz' | wc -l)" -ge 3 ]
ok $? 'closed files are compressed'
find "$work" -name 'out.jsonl.*' | grep -vqE "out\.jsonl\.[0-9a-f]{12}-[0-9]+_[0-9a-f]{12}-[0-9]+(\.[0-9]+)?\.gz$"
is 'and carry the ids of their first and last record' 1 $?
{ zcat "$work"/out.jsonl.*.gz; cat "$work/moved" "$out" 2>/dev/null; } | sort -t: -k3,3 -k2,2n >"$work/all"
is 'no record is lost by it' $((last_one + last_two)) "$(sort -u "$work/all" | wc -l)"

# ---- by age, and zstd ----
rm -rf "$directory" "$out" "$work"/out.jsonl.*
configure '{"name": "archive", "type": "file", "path": "'"$out"'", "rotate_age_s": 2, "compress": "zstd", "include_output": true}'
mv "$state" "$work/state.kept"
journal $one 100 open >/dev/null
start_exporter
closed() {
	[ "$(find "$work" -name 'out.jsonl.*.zst' | wc -l)" -eq "$1" ] && [ ! -e "$out" ]
}
check 'an old file is closed though nothing comes' wait_until 10 closed 1
zstd -qdc "$work"/out.jsonl.*.zst >"$work/all" 2>"$work/log"
check 'and is whole behind its compression' whole "$work/all" $one 101
stop_exporter KILL
# What a process leaves behind: a file that is not old yet, one that is closed, and half of its compression.
head -n 50 "$work/all" >"$out"
tail -n 51 "$work/all" >"$out.$one-51_$one-101"
printf torn >"$out.$one-51_$one-101.zst.part"
rm "$work"/out.jsonl.*.zst
start_exporter
check 'after a crash the next process does what is left to do' wait_until 10 closed 2
is 'the names say what is in them' "$out.$one-1_$one-50.zst $out.$one-51_$one-101.zst" "$(echo "$work"/out.jsonl.*)"
zstd -qdc "$work"/out.jsonl.*.zst >"$work/all" 2>"$work/log"
check 'and nothing is lost by it' whole "$work/all" $one 101
stop_exporter
rm -rf "$state" "$directory"
mv "$work/state.kept" "$state"

# ---- a full disk ----
if [ "$(id -u)" -eq 0 ] && mkdir "$work/small" && mount -t tmpfs -o size=300k none "$work/small" 2>/dev/null; then
	rm -rf "$directory"
	configure '{"name": "archive", "type": "file", "path": "'"$work/small/out"'", "rotate_bytes": 0,
		"include_output": true, "batch_count": 50, "backoff_ms": 50, "backoff_max_ms": 200}'
	start_exporter
	wait_until 10 grep -q 'No space left' "$work/exporter.log"
	# Between its tries it waits.
	is_waiting() {
		[ "$(status_of archive state)" = waiting ]
	}
	check 'a full disk is waited for' wait_until 10 is_waiting
	tail -c 1 "$work/small/out" | cmp -s - /dev/null
	python3 -c 'import sys; [__import__("json").loads(l) for l in open(sys.argv[1])]' "$work/small/out" 2>"$work/log"
	ok $? 'without a torn line'
	mount -o remount,size=20m "$work/small"
	wait_until 10 settled archive
	stop_exporter
	check 'and when there is room, it goes on' whole "$work/small/out" $one "$last_one" $two "$last_two"
	umount "$work/small"
fi

# ---- filters ----
rm -rf "$directory" "$out"
configure '{"name": "archive", "type": "file", "path": "'"$out"'", "kinds": ["session", "output"],
	"drop_fields": ["offset"]}'
start_exporter
wait_until 10 settled archive
stop_exporter
is 'only the kinds that are asked for' "output session.end session.start" \
	"$(grep -o '"kind":"[^"]*"' "$out" | cut -d'"' -f4 | sort -u | xargs)"
! grep -qE '"offset"|"data":"[^"]' "$out"
ok $? 'without dropped fields and data'
is 'and what was left out is counted' $((last_one + last_two - $(wc -l <"$out"))) "$(status_of archive filtered)"
python3 - "$out" >"$work/log" 2>&1 <<'PYTHON'
import json, sys
out = [r for r in map(json.loads, open(sys.argv[1])) if r["kind"] == "output"]
assert all(r["data"] == "" and r["data_truncated"] and len(r["data_digest"]) == 64 for r in out), out[0]
assert len({r["data_digest"] for r in out}) > 100, "the digests say nothing"
PYTHON
ok $? 'output is a length and a digest'
is 'under a key of its own, which nobody else reads' 600 "$(stat -c %a "$directory/digest.key")"

# filter WANT KEY...: what the sink takes of all records, with these keys
filter() {
	want=$1
	rm -rf "$directory" "$out"
	configure '{"name": "archive", "type": "file", "path": "'"$out"'", '"$2"'}'
	start_exporter
	wait_until 10 settled archive
	stop_exporter
	touch "$out"
	is "only $2" "$want" "$(wc -l <"$out")"
}
filter "$last_two" '"sessions": ["'$two'"]'
filter $((last_one + last_two)) '"sessions": ["nobody", "blue"]'
filter 0 '"sessions": ["red"]'
filter 0 '"severity": "high"'

# A loss goes to everybody, whatever is filtered.
rm -rf "$directory" "$out"
mkdir "$directory"
python3 - "$directory/archive.cursor" <<'PYTHON'
import sys
def crc32c(data):
    crc = 0xffffffff
    for b in data:
        crc ^= b
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
text = b"vitrine-cursor 1 archive\ntotals 0 0 0\n0000000000ff 12 open\n"
open(sys.argv[1], "wb").write(text + b"crc %08x\n" % crc32c(text))
PYTHON
configure '{"name": "archive", "type": "file", "path": "'"$out"'", "severity": "high", "kinds": ["tls.hello"]}'
start_exporter
wait_until 5 grep -q '"seq":12,"session":"0000000000ff".*"kind":"gap".*"reason":"removed"' "$out"
ok $? 'a loss goes to everybody, whatever is filtered'
stop_exporter

done_testing
