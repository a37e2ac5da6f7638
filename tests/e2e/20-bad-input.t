#!/bin/sh
# Bad input gets one clear line and exit status 125, and leaves no half session; a command's own failures are told apart.
. "$(dirname "$0")/lib.sh"
need_root

# refused NAME PATTERN ARGUMENT...: exit 125, one line on standard error that matches, no session left.
refused() {
	name=$1
	pattern=$2
	shift 2
	"$bin/vitrine" run --state "$state" "$@" >"$work/out" 2>"$work/err"
	status=$?
	cp "$work/err" "$work/log"
	echo "status $status" >>"$work/log"
	[ "$status" -eq 125 ] && [ "$(wc -l <"$work/err")" -eq 1 ] && grep -qE "$pattern" "$work/err" && [ ! -s "$work/out" ]
	ok $? "$name"
}

refused 'unknown option' 'no-such-option' --no-such-option -- true
refused 'missing command' 'COMMAND' --name x
refused 'bad value of a choice' 'sometimes.*(none|host)|(none|host).*sometimes' --net sometimes -- true
refused 'bad --on-loss' 'freeze' --on-loss never -- true
refused 'bad --env' 'NOVALUE' --env NOVALUE -- true
refused 'policy that is not there' '/no/such/policy' --policy /no/such/policy -- true
printf '{\n  "output": "full",\n  "colour": "red"\n}\n' >"$work/policy.json"
refused 'unknown key of a policy: file, line, key' 'policy.json:3.*colour' --policy "$work/policy.json" -- true
printf '{\n  "output": "sideways"\n}\n' >"$work/policy.json"
refused 'bad value in a policy: file, line, value, what is allowed' 'policy.json:2.*sideways.*meta' --policy "$work/policy.json" -- true
printf '{ "output": \n' >"$work/policy.json"
refused 'policy that is not JSON' 'policy.json' --policy "$work/policy.json" -- true
refused 'workspace that is not there' '/no/such/dir' --workspace /no/such/dir -- true
SHORT=short
export SHORT
refused 'secret that is too short' 'TOKEN.*8' --secret TOKEN=env:SHORT -- true
refused 'secret that is not set' 'NOT_SET_ANYWHERE' --secret TOKEN=env:NOT_SET_ANYWHERE -- true
refused 'name with a control character' 'name' --name "$(printf 'a\nb')" -- true
refused 'socket that is not there' '/no/such/socket' --socket /no/such/socket -- true
is 'no session was left behind' '[]' "$("$bin/vitrine" ps --state "$state" --json | tr -d ' \n')"

mkdir "$work/ro"
mount -t tmpfs -o ro none "$work/ro"
"$bin/vitrine" run --state "$work/ro/state" -- true 2>"$work/log"
is 'state directory that cannot be written: 125' 125 $?
umount "$work/ro"

if setpriv --reuid 65534 --clear-groups "$bin/vitrine" run --state "$work/mine" -- true 2>"$work/err"; then status=0; else status=$?; fi
cp "$work/err" "$work/log"
[ "$status" -eq 125 ] && grep -qi 'root' "$work/err"
ok $? 'not root and no daemon: told so'

# The command's own ends.
run --quiet -- /no/such/command 2>"$work/log"
is 'a command that is not there: 127' 127 $?
run --quiet -- /etc/passwd 2>"$work/log"
is 'a command that may not run: 126' 126 $?
run --quiet -- sh -c 'exit 37' 2>"$work/log"
is 'exit status is the own one' 37 $?
run --quiet -- sh -c 'kill -TERM $$' 2>"$work/log"
is '128 + signal' 143 $?
is 'every session has ended' 0 "$("$bin/vitrine" ps --state "$state" --json | grep -c '"running"')"

# Arguments are the command's own, whatever they are.
hostile=$(printf 'a\nb\t\033[31m"quoted" \\ \377')
run --quiet -- printf '%s' "$hostile" >"$work/out" 2>"$work/log"
is 'hostile argument arrives unharmed' "$hostile" "$(cat "$work/out")"
replay --kind process.exec >"$work/record"
check 'and stands in the record exactly' python3 - "$work/record" "$hostile" <<-'PYTHON'
	import base64, json, os, sys
	want = os.fsencode(sys.argv[2])
	argvs = [json.loads(line) for line in open(sys.argv[1])]
	sys.exit(0 if any(base64.b64decode(b) == want for a in argvs for b in a.get("argv_b64", []) if b) else 1)
PYTHON

done_testing
