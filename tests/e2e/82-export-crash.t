#!/bin/sh
# Nothing is lost and nothing is forged, whatever happens to the exporter, its cursor and the journals.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"

out=$work/out.jsonl
one=0123456789ab
two=fedcba987654
archive='{"name": "archive", "type": "file", "path": "'$out'", "rotate_bytes": 0, "include_output": true,
	"batch_count": 100, "batch_age_ms": 100}'

# ---- kill -9 at random, while records come ----
configure "$archive"
journal $one 8000 rate=1600 >"$work/last" &
writer=$!
for delay in 0.05 0.31 0.12 0.27 0.08 0.44 0.19 0.36 0.11 0.23 0.29 0.07 0.33 0.16 0.41 0.13 0.38 0.21 0.09 0.26; do
	start_exporter
	sleep $delay
	stop_exporter KILL
done
wait $writer
start_exporter
check 'killed 20 times: it comes to the end' wait_until 10 settled archive
stop_exporter
check 'nothing is lost, and what came twice is the same' whole "$out" $one "$(cat "$work/last")"

# ---- a torn line, as a crash leaves it ----
printf '{"seq":1,"sess' >>"$out"
journal $two 10 >"$work/last_two"
start_exporter
wait_until 10 settled archive
stop_exporter
check 'a torn line is cut off' whole "$out" $one "$(cat "$work/last")" $two "$(cat "$work/last_two")"

# ---- cursors that are gone, torn or from the future ----
lines=$(wc -l <"$out")
truncate -s -3 "$directory/archive.cursor"
start_exporter
wait_until 10 settled archive
stop_exporter
all=$(($(cat "$work/last") + $(cat "$work/last_two")))
is 'a torn cursor: everything again' $((lines + all)) "$(wc -l <"$out")"
grep -q 'archive: the cursor is torn' "$work/exporter.log"
ok $? 'and the operator is told'
python3 - "$directory/archive.cursor" $two <<'PYTHON'
import sys
def crc32c(data):
    crc = 0xffffffff
    for b in data:
        crc ^= b
        for _ in range(8):
            crc = crc >> 1 ^ (0x82f63b78 if crc & 1 else 0)
    return crc ^ 0xffffffff
text = f"vitrine-cursor 1 archive\ntotals 0 0 0\n{sys.argv[2]} 99999 open\n".encode()
open(sys.argv[1], "wb").write(text + b"crc %08x\n" % crc32c(text))
PYTHON
start_exporter
wait_until 10 settled archive
was_reset() {
	[ "$(status_of archive cursor_resets)" = 1 ]
}
check 'a cursor from the future is begun anew' wait_until 3 was_reset
wait_until 3 grep -q 'archive: of 1 sessions the cursor was ahead of the journal' "$work/exporter.log"
ok $? 'which the operator is told'
stop_exporter
is 'and all is sent again' $((lines + 2 * all)) "$(wc -l <"$out")"

# ---- a cursor that is deleted ----
rm "$directory/archive.cursor" "$out"
: >"$work/exporter.log"
start_exporter
wait_until 10 settled archive
stop_exporter
check 'a cursor that is deleted: everything again' whole "$out" $one "$(cat "$work/last")" $two "$(cat "$work/last_two")"
grep -q 'archive: there is no cursor' "$work/exporter.log"
ok $? 'and the operator is told'

# ---- retention ----
rm -f "$out"
journal aaaaaaaaaaaa 100 open >/dev/null
start_exporter
wait_until 10 settled archive
rm -r "$state/sessions/aaaaaaaaaaaa"
check 'records that were removed before they were read are a gap' wait_until 5 grep -q \
	'"seq":102,"session":"aaaaaaaaaaaa".*"kind":"gap".*"first":102.*"reason":"removed"' "$out"
sleep 0.6
stop_exporter
! grep -q aaaaaaaaaaaa "$directory/archive.cursor"
ok $? 'and the cursor forgets the session'

done_testing
