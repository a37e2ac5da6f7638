#!/bin/sh
# A disk that hangs: it holds up the sink that writes to it, and nobody else; when it goes on, so does the sink.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"
need_root
command -v fsfreeze >/dev/null && command -v mkfs.ext4 >/dev/null || skip_all "needs fsfreeze and mkfs.ext4"

truncate -s 16M "$work/image"
mkdir "$work/disk"
mkfs.ext4 -q "$work/image" && mount -o loop "$work/image" "$work/disk" 2>/dev/null || skip_all "no loop device is to be had"
trap 'fsfreeze -u "$work/disk" 2>/dev/null; cleanup_exporter; wait; umount "$work/disk"; finish' EXIT

one=0123456789ab
journal $one 500 open >/dev/null
configure '{"name": "stuck", "type": "file", "path": "'"$work/disk/out"'", "batch_age_ms": 50, "include_output": true}' \
	'{"name": "archive", "type": "file", "path": "'"$work/out"'", "batch_age_ms": 50, "include_output": true}'
start_exporter
check 'at first both get all' wait_until 10 settled stuck archive
fsfreeze -f "$work/disk"
last=$(journal $one 2000)
check 'the disk of one hangs: the other one gets it all' wait_until 10 settled archive
is 'in order' "$last" "$(python3 -c 'import json, sys; print([json.loads(l)["seq"] for l in open(sys.argv[1])][-1])' "$work/out")"
is_sending() {
	[ "$(status_of stuck state)" = sending ]
}
check 'the one is on it' wait_until 10 is_sending
fsfreeze -u "$work/disk"
check 'it goes on: so does the sink' wait_until 10 settled stuck
stop_exporter
is 'and the end is clean' 0 $?
check 'nothing is lost, or twice' cmp "$work/out" "$work/disk/out"

done_testing
