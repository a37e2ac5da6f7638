#!/bin/sh
# vitrine-export needs no right but its group: records are readable by that, by nobody else, and secrets are not.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"
need_root
getent passwd games >/dev/null && getent passwd nobody >/dev/null || skip_all "needs the users games and nobody"
command -v setpriv >/dev/null || skip_all "needs setpriv"

socket=$work/socket
printf '{"state": "%s", "socket": "%s", "readers_group": "games"}\n' "$state" "$socket" >"$work/vitrined.json"
"$bin/vitrined" --config "$work/vitrined.json" 2>"$work/daemon.log" &
daemon=$!
trap 'cleanup_exporter; kill $daemon; wait $daemon; finish' EXIT
wait_until 10 test -S "$socket"

bare='--clear-groups --inh-caps=-all --ambient-caps=-all --bounding-set=-all --no-new-privs'
# shellcheck disable=SC2086
as() {
	user=$1
	shift
	setpriv --reuid "$user" --regid "$(id -g "$user")" $bare "$@"
}

# shellcheck disable=SC2086
start_bare() {
	setpriv --reuid games --regid games $bare "$bin/vitrine-export" --config "$config" 2>"$work/exporter.log" &
	exporter=$!
}

install -d -o games -g games "$work/out" "$directory"
configure '{"name": "archive", "type": "file", "path": "'"$work/out/records"'", "batch_age_ms": 50}'
start_bare
"$bin/vitrine" run --quiet --socket "$socket" -- sh -c 'echo hello; cat /etc/passwd >/tmp/copy' >"$work/log" 2>&1
all_there() {
	grep -q '"kind":"session.end"' "$work/out/records" && grep -q '"note":".*\\nend\\n' "$work/out/records"
}
check 'a user without any right gets it all, as it comes' wait_until 10 all_there
"$bin/vitrine" replay --state "$state" --json last 2>/dev/null | wc -l >"$work/want"
is 'every record' "$(cat "$work/want")" "$(grep -vc '"kind":"checkpoint"' "$work/out/records")"
is 'with no capability' 0000000000000000 "$(awk '/^CapEff/ {print $2}' "/proc/$exporter/status")"

session=$(ls "$state/sessions")
is 'the directory is of the group' '2750 games' "$(stat -c '%a %G' "$state/sessions/$session")"
is 'all in it is readable by the group alone' '640 games' "$(stat -c '%a %G' "$state/sessions/$session"/* | sort -u)"
check 'the group can list and read' as games sh -c "cat '$state/sessions/$session'/* >/dev/null"
for user in nobody games; do
	! as $user cat "$state.key" >"$work/log" 2>&1
	ok $? "$user: not the deployment's key"
	! as $user cat "$state.sign" >"$work/log" 2>&1
	ok $? "$user: not what signs the ledger"
	! as $user touch "$state/sessions/$session/x" 2>"$work/log"
	ok $? "$user: may write nothing there"
done
! as nobody ls "$state/sessions" >"$work/log" 2>&1
ok $? 'others may not even list them'
! as nobody cat "$state/sessions/$session/manifest.json" >"$work/log" 2>&1
ok $? 'nor read one they know of'

if command -v systemd-sysusers >/dev/null; then
	check 'the user that a package makes can be made' systemd-sysusers --dry-run "$here/../../exporters/vitrine-export.sysusers"
fi

chmod 700 "$state/sessions/$session"
stop_exporter
as games rm "$directory/archive.cursor"
start_bare
wait_until 5 grep -q '1 sessions cannot be read by this user: permission denied' "$work/exporter.log"
ok $? 'what it may not read it names, and says what would help'
chmod 2750 "$state/sessions/$session"
check 'and goes on when it may' wait_until 5 settled archive
stop_exporter

done_testing
