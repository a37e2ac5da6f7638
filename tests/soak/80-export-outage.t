#!/bin/sh
# Ten minutes (OUTAGE_S) without a receiver, at 5,000 records a second: memory stays flat, what is there goes on, and when
# the receiver is back everything arrives in order, from the first record of the outage on.
. "$(dirname "$0")/../e2e/lib.sh"
here=$(cd "$(dirname "$0")/../e2e" && pwd)
. "$(dirname "$0")/../e2e/export.sh"

seconds=${OUTAGE_S:-600}
one=0123456789ab
start_receiver
size=1000
configure "$(sink elastic "$url" '"batch_bytes": 4194304')" \
	'{"name": "archive", "type": "file", "path": "'"$work/out"'", "sync": "never", "batch_age_ms": 50, "rotate_bytes": 0}'
journal $one 5000 open >/dev/null
start_exporter
check 'at first all is well' wait_until 20 settled elastic archive
before=$(wc -l <"$got/got._bulk")
printf '{"down": true}' >"$got/rules"

journal $one $((seconds * 5000)) rate=5000 >"$work/last" &
writer=$!
samples=$work/memory
# The first seconds fill a batch and the buffers behind it; from then on nothing grows.
sleep 10
while kill -0 $writer 2>/dev/null; do
	awk '/^VmRSS/ {print $2}' "/proc/$exporter/status" >>"$samples"
	sleep 2
done
wait $writer
last=$(cat "$work/last")
least=$(sort -n "$samples" | head -n 1)
most=$(sort -n "$samples" | tail -n 1)
echo "# $((seconds * 5000)) records in $seconds s; $(wc -l <"$samples") samples of memory: $least to $most kB"
[ "$most" -lt $((least + 4096)) ]
ok $? 'memory is flat'
requests=$(wc -l <"$got/requests")
echo "# $requests requests while nobody was there"
check 'the sink that is there has it all' wait_until 30 settled archive
is 'nothing arrived meanwhile' "$before" "$(wc -l <"$got/got._bulk")"

rm "$got/rules"
begun=$(date +%s)
check 'it comes back, and gets it all' wait_until 1200 settled elastic
echo "# after $(($(date +%s) - begun)) s"
is 'the first that comes is the first of the outage' "$one $((before + 1))" "$(sed -n "$((before + 1))p" "$got/got._bulk")"
check 'all in order' arrived _bulk "$last"
check 'no protocol was broken' test ! -e "$got/violations"
stop_exporter
is 'the end is clean' 0 $?
check 'archive: whole' whole "$work/out" $one "$last"

done_testing
