#!/bin/sh
# A recorder that is killed loses nothing in silence: what it had read and not written, because redaction held it back, and what
# it had not read yet, is told in gaps by who finishes the record.
. "$(dirname "$0")/lib.sh"
need_root
make_workspace

SECRET=correct-horse-battery-staple
export SECRET
acts=40

# Half of a secret, and half of it as a name that is asked for: both wait for the other half.
cat >"$workspace/half.sh" <<-SH
	printf 'before correct-horse-bat'
	python3 -c '
	import socket
	name = "correct-horse-bat"
	query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + bytes([len(name)]) + name.encode() + b"\x03org\x00\x00\x01\x00\x01"
	s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
	s.sendto(query, ("127.0.0.1", 53))'
	touch /workspace/half
	until [ -e /workspace/go ]; do sleep 0.05; done
	i=0
	while [ \$i -lt $acts ]; do
		: >/tmp/act-\$i
		i=\$((i + 1))
	done
	touch /workspace/done
	sleep 1000
SH

"$bin/vitrined" --state "$state" --socket "$work/socket" >"$work/daemon.log" 2>&1 &
daemon=$!
wait_for test -S "$work/socket"
"$bin/vitrine" run --quiet --socket "$work/socket" --name half --workspace "$workspace" --secret SECRET=env:SECRET -- sh half.sh \
	>"$work/out" 2>"$work/err" &
client=$!
wait_for test -e "$workspace/half"
is 'a session has written half of its secret' 0 $?
recorder=$(pgrep -P "$daemon" -f vitrine-recorder)

# written TEXT: it is in the file.
written() {
	"$bin/vitrine" replay --state "$state" --json half | grep -q "$1"
}
wait_for written '/workspace/half'
is 'and what came before it is in the record' 0 $?
kill -STOP "$recorder"
touch "$workspace/go"
wait_for test -e "$workspace/done"
is 'the session acts, and the recorder does not read it' 0 $?
kill -9 "$recorder"
wait $client
is 'the recorder is killed, and the client told' 125 $?
wait "$daemon"

"$bin/vitrine" replay --state "$state" --json half >"$work/record"
is 'the record has its end' supervisor_lost "$(sed -n 's/.*"kind":"session.end".*"reason":"\([a-z_]*\)".*/\1/p' "$work/record")"
# gap CLASS FIELD: the sum over the gaps of it.
gap() {
	python3 - "$work/record" "$1" "$2" <<-'PYTHON'
		import json, sys
		gaps = [r for r in map(json.loads, open(sys.argv[1])) if r["kind"] == "gap" and r["reason"] == "recorder_lost"]
		print(sum(r.get(sys.argv[3], 0) for r in gaps if r["class"] == sys.argv[2]))
	PYTHON
}
is 'so many bytes of output were held back' 17 "$(gap output size)"
is 'and one name' 1 "$(gap dns count)"
missing=$(gap file count)
[ "$missing" -ge $acts ]
ok $? "the acts that were not read are told ($missing)"
[ "$missing" -le $((4 * acts)) ]
ok $? 'and not more than there were'
is 'what is told is not there' 0 "$(grep -c '"path":"/tmp/act-' "$work/record")"
is 'the text before the secret is' 1 "$(grep -c '"data":"before ' "$work/record")"
is 'and nothing of what began like the secret' 0 "$(grep -E '"kind":"(output|dns.query)"' "$work/record" | grep -c 'correct-horse-bat')"
"$bin/vitrine" verify --state "$state" half >"$work/log" 2>&1
is 'a verifier finds it intact, and incomplete as declared' 2 $?
"$bin/vitrine" replay --state "$state" half | grep -q '17 bytes of output are missing here: recorder_lost'
ok $? 'and a reader is told in its place'

done_testing
