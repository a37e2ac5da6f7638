#!/bin/sh
# Evidence that went elsewhere: events as a SIEM returns them, held against proofs; what is in a bundle, twice the same;
# checkpoints in their place.
. "$(dirname "$0")/lib.sh"
need_root

run --quiet --name evidence -- sh -c 'echo hello; cat /etc/passwd >/tmp/copy; curl -T /tmp/copy http://127.0.0.1:9/; exit 2' >/dev/null 2>&1
is 'the session ran' 2 $?
vitrine() {
	command=$1
	shift
	"$bin/vitrine" "$command" --state "$state" "$@"
}
vitrine keys export >"$work/keys" 2>"$work/log"
cat >"$work/siem.py" <<'PYTHON'
"""Every event, as each form and wrapping returns it, is the one of its proof; and none that was changed."""
import copy, json, subprocess, sys

vitrine, state, work = sys.argv[1:]
run = lambda *a: subprocess.run([vitrine, *a], capture_output=True, text=True)
canonical = [json.loads(l) for l in run("replay", "--state", state, "last", "--json").stdout.splitlines()]
wanted = {}
for record in canonical:
    if record["kind"] in ("session.start", "process.exec", "file.create", "net.connect", "output", "process.exit"):
        wanted.setdefault(record["kind"], record["seq"])
assert len(wanted) == 6, wanted


def check(seq, text):
    open(work + "/event", "w").write(text)
    return run("verify", "--key", work + "/keys", "--proof", f"{work}/proof-{seq}", "--event", work + "/event").returncode


def leaves(value, path=()):
    if isinstance(value, dict):
        for key in value:
            yield from leaves(value[key], path + (key,))
    elif not isinstance(value, list) or value:
        yield path


def bend(event, path):
    bent = copy.deepcopy(event)
    at = bent
    for key in path[:-1]:
        at = at[key]
    value = at[path[-1]]
    at[path[-1]] = value + 1 if isinstance(value, int) and not isinstance(value, bool) else not value if isinstance(value, bool) \
        else value + "x" if isinstance(value, str) else value[:-1]
    return bent


facts = {("metadata", "product", "version"), ("device", "hostname"), ("device", "boot_uid"), ("host", "name"), ("host", "boot", "id"),
         ("container", "name"), ("labels", "tenant")}
for seq in wanted.values():
    open(f"{work}/proof-{seq}", "w").write(run("prove", "--state", state, "last", str(seq)).stdout)
bends = 0
for form in ("jsonl", "ocsf", "ecs"):
    lines = run("export", "--state", state, "last", "--format", form).stdout
    for kind, seq in wanted.items():
        assert check(seq, lines) == 0, (form, kind)
        event = json.loads(lines.splitlines()[seq - 1])
        other = json.loads(lines.splitlines()[seq])
        for wrapped in ({"_source": event}, {"result": {"_raw": json.dumps(event)}}, {"hits": {"hits": [{"_source": event}]}}, [event]):
            assert check(seq, json.dumps(wrapped)) == 0, (form, kind, wrapped)
        assert check(seq, json.dumps(other)) == 1, (form, kind)
        if form != "jsonl":
            assert check(seq, json.dumps(event | {"added_by_a_siem": 1})) == 0
            own = {"ocsf": "unmapped", "ecs": "vitrine"}[form]
            assert check(seq, json.dumps(event | {own: event[own] | {"uid": 0}})) == 1
        for path in [p for p in leaves(event) if p not in facts and not p[-1].endswith("_digest")][:: 1 if kind == "file.create" else 9]:
            assert check(seq, json.dumps(bend(event, path))) != 0, (form, kind, path)
            bends += 1

# OTLP, as a collector or its store gives it back; and CEF, as text, behind what a syslog daemon put before it.
lines = run("export", "--state", state, "last", "--format", "otlp").stdout
for kind, seq in wanted.items():
    assert check(seq, lines) == 0, ("otlp", kind)
    whole, other = (json.loads(l) for l in lines.splitlines()[seq - 1 : seq + 1])
    event = whole["resourceLogs"][0]["scopeLogs"][0]["logRecords"][0]
    assert check(seq, json.dumps(whole)) == check(seq, json.dumps(event)) == check(seq, json.dumps([event | {"traceId": "00"}])) == 0, kind
    assert check(seq, json.dumps(other)) == 1
    added = copy.deepcopy(event)
    added["attributes"].append({"key": "k8s.pod", "value": {"stringValue": "x"}})
    assert check(seq, json.dumps(added)) == 0
    body = json.loads(event["body"]["stringValue"])
    for path in list(leaves(body))[:: 1 if kind == "file.create" else 9]:
        if path[-1].endswith("_digest"):
            continue
        assert check(seq, json.dumps(event | {"body": {"stringValue": json.dumps(bend(body, path))}})) == 1, (kind, path)
        bends += 1
    for i, attribute in enumerate(event["attributes"]):
        bent = copy.deepcopy(event)
        bent["attributes"][i]["value"] = {"stringValue": "bent"}
        assert attribute["key"].endswith("_digest") or check(seq, json.dumps(bent)) == 1, (kind, attribute)
    assert check(seq, json.dumps(event | {"severityText": "DEBUG"})) == check(seq, json.dumps(event | {"timeUnixNano": "1"})) == 1
lines = run("export", "--state", state, "last", "--format", "cef").stdout
for kind, seq in wanted.items():
    assert check(seq, lines) == 0, ("cef", kind)
    line, other = lines.splitlines()[seq - 1 : seq + 1]
    for returned in ("<134>Nov 30 01:02:03 host " + line + "\r\n", json.dumps({"_raw": line}), json.dumps({"result": {"_raw": line}})):
        assert check(seq, returned) == 0, (kind, returned)
    assert check(seq, other) == 1 and check(seq, line.replace("|vitrine|vitrine|", "|other|other|")) != 0
    for old, new in (("|rt=1", "|rt=2"), (" cs1=", " cs1=0"), ("|" + kind + "|", "|other|"), ('"boot_ns":', '"boot_ns":1'), (" externalId=", " externalId=0"),
                     (" cs6=", " cs6=1"), (" cat=", " cat=no cat=")):
        assert old in line and check(seq, line.replace(old, new, 1)) != 0, (kind, old)
        bends += 1
assert check(wanted["output"], "not JSON") == 3 and check(wanted["output"], json.dumps([other, other])) == 3
print(bends, "changes, all seen")
PYTHON
check 'what a SIEM returns is proved, and what was changed is not' python3 "$work/siem.py" "$bin/vitrine" "$state" "$work"

vitrine bundle last -o "$work/a.tar" >"$work/log" 2>&1 && vitrine bundle last -o "$work/b.tar" >"$work/log" 2>&1
check 'two bundles are the same' cmp "$work/a.tar" "$work/b.tar"
mkdir "$work/in" && tar -xf "$work/a.tar" -C "$work/in"
check 'the policy is in it, by its hash' sh -c '
	hash=$(sha256sum "$1/policy.json" | cut -d" " -f1)
	grep -q "\"policy_sha256\":\"$hash\"" "$1/statement.json" && grep -q "\"redact_rules_sha256\":\"[0-9a-f]\{64\}\"" "$1/statement.json"' sh "$work/in"
vitrine report last -o "$work/report.html"
check 'and the report' cmp "$work/in/report.html" "$work/report.html"
vitrine verify --key "$work/keys" "$work/a.tar" >"$work/log" 2>&1
is 'it is intact' 0 $?
vitrine verify --json --key "$work/keys" "$work/a.tar" >"$work/log" 2>&1
is 'and says which policy was in force' "$(sha256sum "$work/in/policy.json" | cut -d' ' -f1)" "$(sed -n 's/.*"policy_sha256":"\([0-9a-f]*\)".*/\1/p' "$work/log")"

# Somebody puts another policy in, and makes the statement about it anew.
cat >"$work/swap.py" <<'PYTHON'
import hashlib, json, sys, tarfile, io
source, target, name = sys.argv[1:]
members = [(m, tarfile.open(source).extractfile(m.name).read()) for m in tarfile.open(source).getmembers()]
new = {n.name: d for n, d in members}
new[name] = new[name].replace(b"none", b"host", 1)
old = hashlib.sha256(dict((m.name, d) for m, d in members)[name]).hexdigest().encode()
new["statement.json"] = new["statement.json"].replace(old, hashlib.sha256(new[name]).hexdigest().encode())
data = bytearray(open(source, "rb").read())
for m, d in members:
    assert len(new[m.name]) == len(d)
    data[m.offset_data : m.offset_data + len(d)] = new[m.name]
open(target, "wb").write(data)
PYTHON
python3 "$work/swap.py" "$work/a.tar" "$work/bent.tar" policy.json
vitrine verify --key "$work/keys" "$work/bent.tar" >"$work/log" 2>&1
is 'another policy is seen, though the statement vouches for it' 1 $?
python3 - "$work/a.tar" "$work/bent.tar" <<'BEND'
import sys
data = bytearray(open(sys.argv[1], "rb").read())
at = data.index(b"<h1>Session")
data[at + 4] ^= 1
open(sys.argv[2], "wb").write(data)
BEND
vitrine verify --key "$work/keys" "$work/bent.tar" >"$work/log" 2>&1
is 'and another report' 1 $?

vitrine replay last --checkpoints --json >"$work/with"
is 'checkpoints stand in their place' "$(grep -c '^time ' "$work/in/checkpoints")" "$(grep -c '"kind":"checkpoint"' "$work/with")"
vitrine replay last --json >"$work/without"
check 'and beside the records, which stay as they are' sh -c 'grep -v "\"kind\":\"checkpoint\"" "$1" | cmp - "$2"' sh "$work/with" "$work/without"
is 'the last covers all of them' "$(grep -c . "$work/without")" "$(sed -n 's/.*"tree_size":\([0-9]*\),.*/\1/p' "$work/with" | tail -1)"

# While it runs: what is told as it comes is what is told afterwards.
mkfifo "$work/go"
vitrine run --quiet --name live -- sh -c 'echo one; read -r _; echo two' <"$work/go" >"$work/out" 2>"$work/log" &
runs=$!
exec 9>"$work/go"
for _ in $(seq 300); do vitrine replay live --json 2>/dev/null | grep -q '"kind":"output"' && break; sleep 0.1; done
vitrine replay live --follow --checkpoints --json >"$work/followed" 2>"$work/log" &
follows=$!
for _ in $(seq 300); do [ "$(grep -c '"kind":"checkpoint"' "$work/followed")" -ge 2 ] && break; sleep 0.1; done
[ "$(grep -c '"kind":"checkpoint"' "$work/followed")" -ge 2 ] && ! grep -q '"kind":"session.end"' "$work/followed"
ok $? 'checkpoints are told while a session runs'
echo >&9
exec 9>&-
wait $runs $follows
vitrine replay live --checkpoints --json >"$work/with"
check 'and all of them, to the one behind the end' sh -c 'sort "$1" >"$1.sorted" && sort "$2" | sed "s/\"boot_ns\":[0-9]*,\(.*\"kind\":\"checkpoint\"\)/\1/" >"$2.sorted"
	sed "s/\"boot_ns\":[0-9]*,\(.*\"kind\":\"checkpoint\"\)/\1/" "$1.sorted" | cmp - "$2.sorted" && grep -q "[nN]end" "$1"' sh "$work/followed" "$work/with"
done_testing
