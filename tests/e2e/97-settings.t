#!/bin/sh
# What the configuration of vitrined says of records holds for every command that works with them, and where it says that they are.
. "$(dirname "$0")/lib.sh"
need_root

# serve: a vitrined with the configuration; it is there when it returns.
serve() {
	"$bin/vitrined" --config "$work/config.json" 2>"$work/daemon.log" &
	daemon=$!
	for _ in $(seq 300); do [ -L "$state/served" ] && break; sleep 0.1; done
}
stop() {
	kill $daemon
	wait $daemon
}

echo '{"state": "'"$state"'", "socket": "'"$work/socket"'", "key_file": "'"$work/elsewhere.key"'", "readers_group": "daemon"}' >"$work/config.json"
serve
"$bin/vitrine" run --quiet --socket "$work/socket" --name one -- true >"$work/out" 2>"$work/log"
is 'a session under a key of its own' 0 $?
stop
key=$(replay --kind session.start | sed -n 's/.*"redact_key":"\([0-9a-f]*\)".*/\1/p')
[ -n "$key" ] && [ -s "$work/elsewhere.key" ]
ok $? 'made where the configuration says'
"$bin/vitrine" redact key --state "$state" >"$work/out" 2>&1
grep -q "$key" "$work/out"
ok $? 'redact key finds it'
"$bin/vitrine" hold add one --why because --state "$state" >"$work/out" 2>&1 && "$bin/vitrine" hold rm one --why over --state "$state" >>"$work/out" 2>&1
is 'hold works with it' 0 $?
run --quiet --name two -- true >"$work/out" 2>"$work/log"
is 'so does a session without a daemon' "$key" "$(replay --kind session.start | sed -n 's/.*"redact_key":"\([0-9a-f]*\)".*/\1/p')"
is 'its record is for the same group' "$(find "$state/sessions" -mindepth 1 -maxdepth 1 -group daemon | wc -l)" 2
[ ! -e "$state.key" ]
ok $? 'and no other key was made'
printf '{"key_file": "/tmp/another"}' >"$state/settings.json"
chmod 666 "$state/settings.json"
"$bin/vitrine" hold add one --why because --state "$state" >"$work/out" 2>&1
[ $? -eq 1 ] && grep -q "settings.json: has to be a file that belongs to root" "$work/out"
ok $? 'settings that anybody could have written are refused'
rm "$state/settings.json"

# The configuration in its place: commands find state and socket without being told. In a mount namespace of our own.
mkdir "$work/tmp"
cat >"$work/inside" <<INSIDE
mount -t tmpfs none "$work/tmp" && mkdir "$work/tmp/upper" "$work/tmp/work" &&
mount -t overlay -o lowerdir=/etc,upperdir="$work/tmp/upper",workdir="$work/tmp/work" none /etc && mkdir -p /etc/vitrine &&
cp "$work/config.json" /etc/vitrine/vitrined.json || exit 77
"$bin/vitrine" ps --json
"$bin/vitrine" show two >/dev/null || echo show failed
"$bin/vitrine" run --quiet --name three -- true
"$bin/vitrine" ps --json
INSIDE
unshare -m sh "$work/inside" >"$work/out" 2>"$work/log"
if [ $? -eq 77 ]; then
	echo "ok $((count + 1)) - # SKIP no overlay over /etc here"
	count=$((count + 1))
else
	[ "$(grep -c '"name": *"two"' "$work/out")" -eq 2 ] && grep -q '"name": *"three"' "$work/out" && ! grep -q failed "$work/out"
	ok $? 'commands look where the configuration of the host says'
fi
done_testing
