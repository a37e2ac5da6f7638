#!/bin/sh
# No secret is kept: in whatever form, place and pieces it is used, nothing under the state directory holds it.
# shellcheck disable=SC2089,SC2090
. "$(dirname "$0")/lib.sh"
need_root

API_TOKEN="pl4nted/S3cret+'value\"-$$"
JSON_KEY='{"user": "somebody", "inner": {"password": "inn3r-Password-9"}}'
LINES='first-line-of-the-key
second-line-of-the-key'
NAME_KEY=named-planted-key-4711
export API_TOKEN JSON_KEY LINES NAME_KEY

cat >"$work/forms.py" <<'EOP'
import base64, json, os, shlex, socket, subprocess, sys, time, urllib.parse
t = os.environ["API_TOKEN"]
b = t.encode()
forms = [t, base64.b64encode(b).decode(), base64.b64encode(b"a" + b).decode(), base64.b64encode(b"ab" + b).decode(),
         base64.urlsafe_b64encode(b).decode(), base64.b64encode(b + b"\n").decode(), b.hex(), b.hex().upper(),
         urllib.parse.quote(t, safe=""), urllib.parse.quote(t), json.dumps(t), shlex.quote(t)]
for form in forms:
    print("form:", form)
    print("form:", form, file=sys.stderr)
sys.stdout.flush()
for form in forms:
    subprocess.run(["true", form, "--x=" + form])
    if "/" in form:
        continue
    name = "/tmp/" + form
    open(name, "w").close()
    os.rename(name, name + ".new")
os.mkdir("/tmp/" + b.hex())
os.chdir("/tmp/" + b.hex())
subprocess.run(["true"])
for i in range(1, len(t)):
    os.write(1, t[:i].encode())
    os.write(1, t[i:].encode() + b"\n")
    subprocess.run(["true", t[:i], t[i:]])
for c in t:
    os.write(2, c.encode())
os.write(2, b"\n")
for name in (b.hex()[:60] + ".example.org", b.hex()[:20] + "." + b.hex()[20:40] + "." + b.hex()[40:60] + ".example.org"):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00"
    query += b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\x00\x00\x01\x00\x01"
    try:
        s.sendto(query, ("127.0.0.1", 53))
    except OSError:
        pass
print("inner", json.loads(os.environ["JSON_KEY"])["inner"]["password"])
print(os.environ["LINES"].split("\n")[1])
EOP

run --quiet --name "$NAME_KEY" --label "key=$API_TOKEN" --secret NAME_KEY=env:NAME_KEY --secret API_TOKEN=env:API_TOKEN --secret JSON_KEY=env:JSON_KEY \
	--secret LINES=env:LINES -- sh -c 'cat >/tmp/forms.py; exec python3 /tmp/forms.py' <"$work/forms.py" >"$work/out" 2>"$work/err"
is 'the command works and gets its secrets' 0 $?
check 'its own output is not altered' grep -qF "form: $API_TOKEN" "$work/out"

cat >"$work/search.py" <<'EOP'
import base64, os, sys, urllib.parse, json
state, bad = sys.argv[1], []
t = os.environ["API_TOKEN"]
b = t.encode()
core = base64.b64encode(b).decode().rstrip("=")[:-1]
texts = {t, core, base64.b64encode(b"a" + b).decode()[2:-2], base64.b64encode(b"ab" + b).decode()[3:-2], b.hex(), b.hex().upper(),
         urllib.parse.quote(t, safe=""), json.dumps(t)[1:-1], "inn3r-Password-9", "second-line-of-the-key", "named-planted-key-4711"}
texts.add(b.hex()[:40])
for root, _, files in os.walk(state):
    for name in [root] + files:
        if any(x in name for x in texts):
            bad.append("name " + name)
    for name in files:
        data = open(os.path.join(root, name), "rb").read()
        bad += [f"{name}: {x}" for x in texts if x.encode() in data]
for line in sys.stdin.buffer:
    bad += ["replay: " + x for x in texts if x.encode() in line]
print("\n".join(bad))
sys.exit(bool(bad))
EOP
replay >"$work/record"
[ "$(grep -c 'REDACTED:API_TOKEN' "$work/record")" -gt 100 ]
ok $? 'it was recorded and cut'
check 'and nothing that is kept holds it, in any form' python3 "$work/search.py" "$state" <"$work/record"
check 'the record stays JSON' python3 -c '
import json, sys
for line in open(sys.argv[1]): json.loads(line)' "$work/record"
replay --kind redact.summary >"$work/summary"
check 'the summary counts it by rule' grep -q '"API_TOKEN":[0-9]' "$work/summary"
"$bin/vitrine" ps --state "$state" >"$work/ps" 2>&1
"$bin/vitrine" show --state "$state" last >>"$work/ps" 2>&1
! grep -qF -e "$API_TOKEN" -e "$NAME_KEY" "$work/ps"
ok $? 'ps and show do not know it'

# What nobody told vitrine of.
run --quiet -- sh -c 'echo "export GITHUB=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"; curl -u me:hunter2hunter2 http://127.0.0.1:9/ 2>/dev/null
	true --password s3cret-of-argv; true "Authorization: Bearer abcdef0123456789ABCDEF"; printf "password="; sleep 0.05; printf Xk3Lm; echo 9QpZ2
	git clone https://bot:Qw9Er8Ty7Ui6@127.0.0.1:9/x.git 2>/dev/null; true --token abcdefgh12345678' >"$work/out" 2>"$work/err"
replay >"$work/record"
for secret in zQWBuTSOoRi4A9spHcVY5ncnsDkxkJ0mLq17 hunter2hunter2 s3cret-of-argv abcdef0123456789ABCDEF Xk3Lm9QpZ2 Qw9Er8Ty7Ui6 abcdefgh12345678; do
	! grep -qaF "$secret" "$work/record"
	ok $? "what looks like a secret is not kept: $secret"
done
check 'its rule is named' grep -q 'REDACTED:github-token:' "$work/record"

# Rules can be switched off, and what was in force is in the record.
echo '{"redact_off": ["github-token"]}' >"$work/policy.json"
run --quiet --policy "$work/policy.json" -- echo 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 >"$work/out" 2>"$work/log"
[ "$(replay | grep -cF 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)" -gt 0 ]
ok $? 'a rule that is switched off cuts nothing'
check 'the start of the session says what was in force' sh -c 'grep session.start | grep -q "\"redact_rules_sha256\":\"[0-9a-f]\{64\}\""' <<-EOR
	$(replay --kind session.start)
EOR
echo '{"redact_off": ["no-such-rule"]}' >"$work/policy.json"
run --quiet --policy "$work/policy.json" -- true >"$work/out" 2>"$work/log"
[ $? -ne 0 ] && grep -q 'no-such-rule' "$work/log"
ok $? 'a rule that is not there is refused by name'

# Rules of the policy: one that is new, and one that is tuned.
cat >"$work/policy.json" <<'EOP'
{"redact_rules": [{"name": "acme-token", "keywords": ["acme_"], "pattern": "acme_([a-z0-9]{16})"}, {"name": "password", "allow": ["Xk3Lm9"]}]}
EOP
run --quiet --policy "$work/policy.json" -- sh -c 'echo use acme_k3j9x0q2m7z1p5w8; echo password=Xk3Lm9QpZ2' >"$work/out" 2>"$work/log"
replay >"$work/record"
! grep -q k3j9x0q2m7z1p5w8 "$work/record" && grep -q 'REDACTED:acme-token:' "$work/record"
ok $? 'a rule of the policy cuts'
check 'what the policy allows stays' grep -q password=Xk3Lm9QpZ2 "$work/record"
check 'the policy stands in the record' grep -q '"redact_rules":\[{' "$work/record"
printf 'use acme_k3j9x0q2m7z1p5w8\n' >"$work/text"
"$bin/vitrine" redact test --policy "$work/policy.json" "$work/text" >"$work/out"
[ $? -eq 1 ] && grep -q '^1:10 acme-token (policy, shape): 16 bytes' "$work/out"
ok $? 'redact test says what the policy would cut'
"$bin/vitrine" redact rules --json --policy "$work/policy.json" >"$work/out"
check 'redact rules shows what is tuned' grep -q '"name":"password".*"allow":\["Xk3Lm9"\]' "$work/out"
echo '{"redact_rules": [{"name": "x", "keywords": ["abc"], "pattern": "x("}]}' >"$work/policy.json"
run --quiet --policy "$work/policy.json" -- true >"$work/out" 2>"$work/log"
[ $? -ne 0 ] && grep -qF 'redact_rules[0].pattern: x(: missing closing parenthesis' "$work/log"
ok $? 'a bad rule is refused, with its place and the reason'

# A prompt has to show while the session waits.
run --quiet --secret API_TOKEN=env:API_TOKEN -- sh -c 'printf "pl"; sleep 4' >/dev/null 2>"$work/log" &
pid=$!
shown=1
for _ in 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16 17 18 19 20; do
	if replay --kind output 2>/dev/null | grep -q '"data":"pl"'; then
		shown=0
		break
	fi
	sleep 0.15
done
ok $shown 'what is held back shows while the session runs'
wait $pid

SHORT=1234567
export SHORT
run --quiet --secret SHORT=env:SHORT -- true >"$work/out" 2>"$work/log"
[ $? -ne 0 ] && grep -q 8 "$work/log"
ok $? 'a secret under 8 bytes is refused, with the reason'

done_testing
