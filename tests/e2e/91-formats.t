#!/bin/sh
# A session in the forms of other tools, by the rules of each; twice the same bytes; and a bundle that anybody reads.
. "$(dirname "$0")/lib.sh"
need_root

make_workspace
cat >"$workspace/agent.sh" <<'AGENT'
cd /workspace
printf 'x' >'=cmd|calc'; printf 'x' >"$(printf 'new\nline,"quoted" \033[31m')"; printf 'x' >"$(printf '\377bad')"
printf '\303'; sleep 0.05; printf '\251\n'
sh -c 'sleep 0.05 & sleep 0.1; exit 2'
python3 -c '
import os, socket, threading
s = socket.socket(); s.bind(("127.0.0.1", 8099)); s.listen()
t = threading.Thread(target=lambda: s.accept()[0].recv(9)); t.start()
c = socket.create_connection(("127.0.0.1", 8099)); c.send(b"x"); c.close(); t.join()
os.execvp("true", ["@SUM(1)"])'
(sleep 60 & exec true) </dev/null >/dev/null 2>&1
exit 4
AGENT
chown 1000:1000 "$workspace/agent.sh"
run --quiet --name formats --workspace "$workspace" -- sh /workspace/agent.sh >"$work/out" 2>"$work/log"
is 'the session ran' 4 $?
"$bin/vitrine" replay --state "$state" --json last >"$work/canonical"

"$bin/vitrine" bundle --state "$state" last -o "$work/session.tar" >"$work/log" 2>&1
chmod 644 "$work/session.tar"
mkdir -m 777 "$work/tmp"
for format in perfetto timesketch timesketch-csv asciicast asciicast-v2; do
	"$bin/vitrine" replay --state "$state" --format "$format" last >"$work/one"
	check "$format: by its rules" python3 "$here/formats.py" "$format" "$work/one" "$work/canonical"
	"$bin/vitrine" replay --state "$state" --format "$format" last >"$work/two"
	check "$format: twice the same bytes" cmp "$work/one" "$work/two"
	TMPDIR=$work/tmp setpriv --reuid 65534 --regid 65534 --clear-groups \
		"$bin/vitrine" replay --format "$format" "$work/session.tar" >"$work/two" 2>"$work/log"
	check "$format: of a bundle, by nobody" cmp "$work/one" "$work/two"
done
is 'a bundle leaves nothing behind' '' "$(ls "$work/tmp")"
"$bin/vitrine" replay --state "$state" --json last --filter 'attack:T1059.004 kind:process.exec' >"$work/out"
is 'tags are found by the filter: two shells' 2 "$(grep -c '"path":"/usr/bin/dash"' "$work/out")"
is 'and nothing else' 2 "$(grep -c . "$work/out")"
"$bin/vitrine" replay --state "$state" --format perfetto --json last >"$work/out" 2>"$work/log"
is 'two forms at once are refused' 2 $?
"$bin/vitrine" replay "$work/canonical.tar" >"$work/out" 2>"$work/log"
is 'a bundle that is not there is an error' 1 $?
cp "$work/canonical" "$work/not.tar"
"$bin/vitrine" replay "$work/not.tar" >"$work/out" 2>"$work/log"
is 'and one that is none, too' 1 $?
done_testing
