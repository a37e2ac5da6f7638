#!/bin/sh
# A user reads the records of his own sessions by a vitrined, with every command, and nothing of anybody else's.
set -eu
. "$(dirname "$0")/lib.sh"
need_root
command -v setpriv >/dev/null || skip_all "needs setpriv (util-linux)"

group=$(getent group nogroup nobody | head -n 1 | cut -d: -f1)
gid=$(getent group "$group" | cut -d: -f3)
socket=$work/control.sock
mkdir "$work/tmp" "$work/ann" "$work/bob"
chmod 1777 "$work/tmp"
chown 64901 "$work/ann"
chown 64902 "$work/bob"

# as NAME COMMAND...: ann and bob are two users of the group that may run sessions.
as() {
	who=$1
	uid=64901
	[ "$who" = ann ] || uid=64902
	shift
	(cd "$work/$who" && TMPDIR=$work/tmp HOME=$work/$who exec setpriv --reuid "$uid" --regid "$gid" --clear-groups --inh-caps=-all "$@")
}
as ann test -x "$bin/vitrine" || skip_all "the programs are where only root can run them"

# v NAME COMMAND ARGUMENT...: a command as that user; its status, $work/out and $work/log.
v() {
	who=$1
	command=$2
	shift 2
	status=0
	as "$who" "$bin/vitrine" "$command" --state "$state" "$@" >"$work/out" 2>"$work/log" </dev/null || status=$?
}
# same NAME COMMAND ARGUMENT...: ann gets, to the last byte, what root gets.
same() {
	name=$1
	shift
	v ann "$@"
	cp "$work/out" "$work/hers"
	command=$1
	shift
	theirs=0
	"$bin/vitrine" "$command" --state "$state" "$@" >"$work/theirs" 2>"$work/log" || theirs=$?
	if [ "$status" = "$theirs" ] && cmp "$work/hers" "$work/theirs" >>"$work/log" 2>&1; then ok 0 "$name"; else ok 1 "$name"; fi
}
forbidden() {
	if [ "$status" -eq 1 ] && grep -q 'forbidden' "$work/log" && [ ! -s "$work/out" ]; then ok 0 "$1"; else ok 1 "$1"; fi
}
echo '{"group": "'"$group"'", "users": {"root": {}, "@'"$group"'": {}}}' >"$work/config.json"
"$bin/vitrined" --state "$state" --socket "$socket" --config "$work/config.json" >"$work/daemon.log" 2>&1 </dev/null &
daemon=$!
wait_for test -L "$state/served"
session() {
	who=$1
	shift
	as "$who" "$bin/vitrine" run --socket "$socket" --quiet "$@" >"$work/out" 2>"$work/log" </dev/null
}
session ann --name alpha -- sh -c 'echo one >/tmp/a; cat /etc/hostname; exit 0'
session ann --name again -- sh -c 'echo two >/tmp/b; true'
session bob --name hush-hush -- true
"$bin/vitrine" run --socket "$socket" --quiet --name roots -- true
id_of() { "$bin/vitrine" ps --state "$state" --json | python3 -c 'import json, sys
print([s["id"] for s in json.load(sys.stdin) if s["name"] == sys.argv[1]][0])' "$1"; }
alpha=$(id_of alpha) bobs=$(id_of hush-hush)

v ann ps --json
check 'ps lists her sessions, and no name of anybody else' python3 -c '
import json, sys
text = open(sys.argv[1]).read()
assert sorted(s["name"] for s in json.loads(text)) == ["again", "alpha"] and sys.argv[2] not in text' "$work/out" "$bobs"
same 'replay' replay alpha --json
same 'replay with its checkpoints' replay alpha --json --checkpoints
same 'show' show "$alpha"
same 'tree' tree alpha
same 'files' files alpha
same 'hosts' hosts alpha
same 'stats' stats alpha
same 'lineage' lineage alpha /tmp/a
same 'diff' diff alpha again
same 'report' report alpha --format md
v ann report alpha -o page.html
"$bin/vitrine" report --state "$state" alpha -o "$work/page.html" >"$work/log" 2>&1
check 'the page, too' cmp "$work/ann/page.html" "$work/page.html"
v ann verify alpha
is 'verify says that it is intact' 0 "$status"
v ann prove alpha 1
v ann search kind:process.exec --limit 0
[ "$status" -eq 0 ] && ! grep -q "$bobs" "$work/out"
ok $? 'search looks into her sessions alone'
v ann bundle alpha -o alpha.tar
v ann verify alpha.tar
is 'a bundle of hers is hers to give' 0 "$status"

v ann show hush-hush
forbidden 'a session of another user is forbidden by name'
for command in show replay tree files hosts stats verify report; do
	v ann $command "$bobs"
	if [ "$status" -ne 1 ] || ! grep -q forbidden "$work/log"; then
		echo "$command $bobs" >>"$work/log"
		break
	fi
done
forbidden 'and by its id, with any command'
v ann diff alpha "$bobs"
forbidden 'also as the second of two'
listed=0
as ann ls "$state/sessions" >"$work/log" 2>&1 || listed=$?
[ $listed -ne 0 ]
ok $? 'the state directory stays closed'
[ -z "$(ls -A "$work/tmp")" ]
ok $? 'nothing that was borrowed is left'
check 'that she read is recorded, and that root did' python3 -c '
import json, sys
acts = [json.loads(l) for l in open(sys.argv[1])]
read = {(a["user"]["uid"], a["query"]) for a in acts if a["kind"] == "record.access" and a["session"] == sys.argv[2]}
assert {(64901, "replay alpha"), (64901, "verify alpha"), (64901, "diff alpha again"), (0, "replay alpha")} <= read, read
assert not [a for a in acts if a["kind"] == "record.access" and a["session"] == sys.argv[3] and a["user"]["uid"] == 64901]' "$state/acts" "$alpha" "$bobs"

# What a client of her own making gets: files, open for reading alone, of her own records.
cat >"$work/client.py" <<'PYTHON'
import array, fcntl, json, os, socket, stat, sys
path, mine, other = sys.argv[1:]
s = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
s.connect(path)
def ask(**request):
    s.send(json.dumps(request).encode())
    data, ancillary, _, _ = s.recvmsg(65536, socket.CMSG_SPACE(4 * 16))
    fds = array.array("i")
    for _, _, d in ancillary:
        fds.frombytes(d[: len(d) - len(d) % 4])
    return json.loads(data), list(fds)
def refused(answer, code):
    assert not answer[0]["ok"] and answer[0]["error"]["code"] == code and not answer[1], answer
refused(ask(request="record.more", after=""), "forbidden")
for name in (other, "../sessions/" + mine, "..", "", mine + "/", "0" * 12):
    refused(ask(request="record.open", session=name, query="x"), "forbidden")
refused(ask(request="record.open", query="x"), "forbidden")
refused(ask(request="record.open", session=mine), "bad_request")
refused(ask(request="record.more", after=""), "forbidden")
answer, fds = ask(request="record.open", session=mine, query="by hand")
assert answer["ok"] and len(fds) == len(answer["files"]) >= 3, answer
for fd in fds:
    assert stat.S_ISREG(os.fstat(fd).st_mode)
    assert fcntl.fcntl(fd, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    for bad in (lambda: os.write(fd, b"x"), lambda: os.ftruncate(fd, 0), lambda: os.open("..", os.O_RDONLY, dir_fd=fd),
                lambda: os.open("/proc/self/fd/%d" % fd, os.O_RDWR), lambda: os.fchmod(fd, 0o777)):
        try:
            bad()
        except OSError:
            continue
        raise AssertionError("allowed")
refused(ask(request="record.open", session=other, query="x"), "forbidden")
refused(ask(request="record.more", after=""), "forbidden")
listed = ask(request="record.list", after="")[0]
assert {r["name"] for r in listed["records"]} == {"alpha", "again"}, listed
PYTHON
check 'descriptors are of files, read-only, and lead nowhere else' as ann python3 "$work/client.py" "$socket" "$alpha" "$bobs"

# While it runs.
mkfifo "$work/go"
as ann "$bin/vitrine" run --socket "$socket" --quiet --name live -- sh -c 'echo begun; read -r _; echo over' <"$work/go" >"$work/ran" 2>&1 &
runs=$!
exec 9>"$work/go"
wait_for grep -q begun "$work/ran"
as ann "$bin/vitrine" replay --state "$state" live --follow --json >"$work/followed" 2>"$work/log" &
follows=$!
wait_for grep -q 'begun' "$work/followed"
is 'a session that runs is followed' 0 "$(grep -c session.end "$work/followed")"
echo >&9
exec 9>&-
wait $runs
wait $follows
ok $? 'to its end'
"$bin/vitrine" replay --state "$state" live --json >"$work/theirs"
check 'and all of it is told' cmp "$work/followed" "$work/theirs"

# Who is killed leaves nothing either.
mkfifo "$work/stuck"
as ann "$bin/vitrine" replay --state "$state" alpha --json >"$work/stuck" 2>&1 &
reader=$!
exec 8<"$work/stuck"
# shellcheck disable=SC2016
wait_for sh -c 'ls "$1"/vitrine-own-*' sh "$work/tmp" || :
kill -9 $reader 2>/dev/null || :
exec 8<&-
# shellcheck disable=SC2016
wait_for sh -c '[ -z "$(ls -A "$1")" ]' sh "$work/tmp"
ok $? 'a reader that is killed leaves no copy'
as ann "$bin/vitrine" note --state "$state" alpha 1 'a thought' >"$work/out" 2>"$work/log" || :
as ann "$bin/vitrine" note --state "$state" alpha >"$work/out" 2>>"$work/log"
grep -q 'a thought' "$work/out"
ok $? 'notes are kept with the user'

kill $daemon
wait $daemon || :
v ann show alpha
[ "$status" -eq 1 ] && ! grep -q begun "$work/out"
ok $? 'without a vitrined nobody lends'
done_testing
