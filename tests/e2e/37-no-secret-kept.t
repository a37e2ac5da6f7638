#!/bin/sh
# The whole promise at once: a generator plants a secret in every form, in every place, split at every byte over two writes, two
# arguments and two names that are asked for. Then all that vitrine wrote, sent and still has in memory is searched.
# shellcheck disable=SC2089,SC2090
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/export.sh"
need_root

SECRET="Xq7/pl4nted+'v\"alue-Zw9"
export SECRET
socket=$work/control.sock
printf '{"state": "%s", "socket": "%s", "metrics": "unix:%s"}\n' "$state" "$socket" "$work/metrics.sock" >"$work/daemon.json"
env -u SECRET "$bin/vitrined" --config "$work/daemon.json" 2>"$work/daemon.log" &
daemon=$!
for _ in $(seq 100); do
	[ ! -S "$socket" ] || break
	sleep 0.1
done

cat >"$work/plant.py" <<'EOP'
import base64, html, json, os, shlex, socket, subprocess, sys, urllib.parse
t = os.environ["SECRET"]
b = t.encode()
forms = {"raw": t, "base64": base64.b64encode(b).decode(), "base64@1": base64.b64encode(b"a" + b).decode(),
         "base64@2": base64.b64encode(b"ab" + b).decode(), "base64url": base64.urlsafe_b64encode(b + b"\n").decode(),
         "base32": base64.b32encode(b).decode(), "base32@3": base64.b32encode(b"abc" + b).decode(), "hex": b.hex(), "HEX": b.hex().upper(),
         "hex:": ":".join(f"{c:02x}" for c in b), "\\x": "".join(f"\\x{c:02x}" for c in b), "0x": ", ".join(f"0x{c:02x}" for c in b),
         "xxd": " ".join(b.hex()[i:i + 4] for i in range(0, len(b) * 2, 4)), "percent": urllib.parse.quote(t, safe=""),
         "percent+": urllib.parse.quote_plus(t), "%all": "".join(f"%{c:02X}" for c in b), "json": json.dumps(t), "json2": json.dumps(json.dumps(t)),
         "shell": shlex.quote(t), "repr": repr(t), "html": html.escape(t), "upper": t.upper(), "wrapped": "\n  ".join(t[i:i + 5] for i in range(0, len(t), 5)),
         "ansi": "\033[31m".join(t), "corrected": t[:6] + "zz\b\b" + t[6:], "utf16": t.encode("utf-16-le").decode("latin1")}
for n, (name, form) in enumerate(forms.items()):
    os.write(1, f"<{name}>{form}<.>\n".encode())
    os.write(2, f"<{name}>{form}<.>\n".encode())
    if "\0" in form:
        continue
    subprocess.run(["/bin/true", "x", form, "--y=" + form])
    path = f"/tmp/{n}/{form}"
    if "/" not in form:
        os.mkdir(f"/tmp/{n}")
        open(path, "w").close()
        os.rename(path, path + ".b")
        os.symlink(form, path + ".c")
        os.unlink(path + ".b")
        os.mkdir(path + ".d")
        os.chdir(path + ".d")
        subprocess.run(["/bin/true"])
    try:
        subprocess.run(["/no/such/" + form])
    except OSError:
        pass
os.write(1, b"nothing is cut here\n")
for i in range(1, len(b)):
    os.write(1, b[:i])
    os.write(1, b[i:] + b"|\n")
for i in range(1, len(b)):
    subprocess.run(["/bin/true", t[:i], t[i:]])
def ask(s, name):
    query = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00" + b"".join(bytes([len(l)]) + l.encode() for l in name.split(".")) + b"\x00\x00\x01\x00\x01"
    try:
        s.sendto(query, ("127.0.0.1", 53))
    except OSError:
        pass
h = b.hex()
for i in range(1, len(h), 2):
    s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    ask(s, "www.example.com")
    ask(s, h[:i] + ".t.example.org")
    ask(s, h[i:] + ".t.example.org")
ask(s, h[:20] + "." + h[20:] + ".t.example.org")
a = socket.socket(socket.AF_UNIX)
a.bind("\0" + t)
with open("/run/secrets/FILE") as f:
    print(f.read())
EOP

"$bin/vitrine" run --socket "$socket" --name planted-by-name --label "key=$SECRET" --secret SECRET=env:SECRET --secret FILE=env:SECRET,as=file \
	-- sh -c 'cat >/tmp/plant.py; exec python3 /tmp/plant.py' <"$work/plant.py" >"$work/out" 2>"$work/err"
status=$?
is 'the session plants its secret everywhere' 0 $status
[ $status -eq 0 ] || sed 's/^/# /' "$work/err" "$work/daemon.log"
id=$(sed -n 's/^session //p' "$work/err" | head -1)
"$bin/vitrine" run --socket "$socket" --quiet --secret SECRET=env:SECRET -- "/no/such/$SECRET" >"$work/out2" 2>"$work/err2"
"$bin/vitrine" run --socket "$socket" --quiet --secret SECRET=env:SECRET --cwd "/no/$SECRET" -- true >>"$work/out2" 2>>"$work/err2"

# What is in memory now, when the sessions are over.
cat >"$work/needles.py" <<'EOP'
import base64, os
b = os.environ["SECRET"].encode()
def letters(x):
    return bytes(c + 32 if 65 <= c <= 90 else c for c in x if c > 32 and c not in b"\x7f.\"'\\")
cores = [b, base64.b64encode(b)[:-2], base64.b64encode(b"a" + b)[2:-2], base64.b64encode(b"ab" + b)[3:-2], base64.b32encode(b).rstrip(b"=")[:-1], b.hex().encode()]
needles = [letters(c) for c in cores]
EOP
cat >"$work/memory.py" <<'EOP'
import sys
sys.path.insert(0, sys.argv[1])
from needles import cores
bad = 0
for pid in sys.argv[2:]:
    comm = open(f"/proc/{pid}/comm").read().strip()
    with open(f"/proc/{pid}/mem", "rb", 0) as mem:
        for line in open(f"/proc/{pid}/maps"):
            if "[v" in line:
                continue
            start, end = (int(x, 16) for x in line.split()[0].split("-"))
            try:
                mem.seek(start)
                data = mem.read(end - start).lower()
            except OSError:
                continue
            for core in cores:
                if core.lower() in data:
                    bad += 1
                    print(comm, line.strip(), core)
sys.exit(bad != 0)
EOP
if [ -n "${ASAN_OPTIONS-}${VITRINE_SANITIZED-}" ] || grep -qa __asan_init "$bin/vitrined"; then
	echo "# a sanitizer keeps what is freed: memory is not searched"
else
	pids="$daemon $(pgrep -P "$daemon" | tr '\n' ' ')"
	# shellcheck disable=SC2086
	check 'no process has it in its memory' python3 "$work/memory.py" "$work" $pids
	is 'nor do libraries bind while it is in the registers' 'vitrine-final vitrine-names vitrine-recorde vitrined ' "$(for pid in $pids; do
		tr '\0' '\n' <"/proc/$pid/environ" | grep -qx LD_BIND_NOW=1 && cat "/proc/$pid/comm"
	done | sort -u | tr '\n' ' ')"
	for pid in $pids; do
		grep -q '^Max core file size *0 *0' "/proc/$pid/limits" || [ "$(cat "/proc/$pid/comm")" = vitrine-launche ] || echo "core: $(cat "/proc/$pid/comm")"
	done >"$work/log"
	[ ! -s "$work/log" ]
	ok $? 'and none of those that saw it would leave a core'
fi
# What it tells of itself, and what goes out by every socket.
mkdir "$work/made"
curl -sS --max-time 10 --unix-socket "$work/metrics.sock" http://localhost/metrics >"$work/made/metrics"
check 'it tells of what it cut' grep -q '^vitrine_redactions_total{rule="given"} [1-9]' "$work/made/metrics"
kill "$daemon"
wait "$daemon"

export TOKEN=tok HOOK_SECRET=whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=
start_receiver
: >"$got/keep"
python3 "$here/syslog_receiver.py" "$got" tcp 2>>"$work/receiver.log" &
syslog=$!
trap 'kill $syslog; cleanup_exporter; finish' EXIT
wait_until 5 test -s "$got/address"
out='"include_output": true'
size=500
configure "$(sink hec "$url" "\"token\": {\"env\": \"TOKEN\"}, $out")" "$(sink elastic "$url" "$out")" "$(sink otlp "$url" "$out")" \
	"$(sink webhook "$url/hook" "\"secret\": {\"env\": \"HOOK_SECRET\"}, $out")" "$(sink clickhouse "$url/ch" "$out")" \
	'{"name": "log", "type": "syslog", "transport": "tcp", "address": "'"$(cat "$got/address")"'", '"$fast, $out"'}'
sed -i 's|^{|{"metrics": "unix:'"$work"'/export.sock", |' "$config"
start_exporter
check 'six receivers get it all' wait_until 20 settled hec elastic otlp webhook clickhouse log
curl -sS --max-time 10 --unix-socket "$work/export.sock" http://localhost/metrics >"$work/made/export-metrics"
check 'and what sends tells of it' grep -q '^vitrine_' "$work/made/export-metrics"
stop_exporter
cp "$got"/body.* "$got/messages" "$work/exporter.log" "$work/made/"
is 'by all of them the same text went out' 6 "$(grep -l 'nothing is cut here' "$work"/made/body.* "$work/made/messages" | wc -l)"

# All that was written, and all that can be made of it.
"$bin/vitrine" replay --state "$state" --json "$id" >"$work/record"
"$bin/vitrine" replay --state "$state" "$id" >"$work/made/lines" 2>&1
for format in jsonl ocsf ecs otlp cef; do
	"$bin/vitrine" export --state "$state" --format "$format" --full "$id" >"$work/made/$format" 2>"$work/made/$format.err" ||
		"$bin/vitrine" export --state "$state" --format "$format" "$id" >"$work/made/$format" 2>>"$work/made/$format.err"
done
"$bin/vitrine" report --state "$state" "$id" >"$work/made/report" 2>&1
"$bin/vitrine" ps --state "$state" >"$work/made/ps" 2>&1
"$bin/vitrine" tree --state "$state" "$id" >"$work/made/tree" 2>&1
"$bin/vitrine" hosts --state "$state" "$id" >"$work/made/hosts" 2>&1
cp "$work/daemon.log" "$work/made/daemon.log"
cp "$work/err2" "$work/made/errors"
cat >"$work/search.py" <<'EOP'
import json, os, re, sys
sys.path.insert(0, sys.argv[1])
from needles import cores, letters, needles
work, state = sys.argv[1:3]
bad = []
def look(where, data):
    for core, needle in zip(cores, needles):
        if core.lower() in data.lower() or needle in letters(data):
            at = data.lower().find(core.lower())
            bad.append(f"{where}: {core} {data[max(0, at - 60):at + 60] if at >= 0 else ''}")
for root in (state, work + "/made"):
    for place, _, files in os.walk(root):
        for name in files:
            look("name", name.encode())
            look(os.path.join(place, name), open(os.path.join(place, name), "rb").read())
streams, names, lists = {}, [], []
for line in open(work + "/record"):
    r = json.loads(line)
    def texts(v):
        if isinstance(v, str):
            look(r["kind"], v.encode())
        elif isinstance(v, dict):
            for k in v:
                texts(k), texts(v[k])
        elif isinstance(v, list):
            for x in v:
                texts(x)
    texts(r)
    if r["kind"] == "output":
        streams.setdefault(r["stream"], []).append(r.get("data", ""))
    if r["kind"] == "process.exec":
        look("argv", "\0".join(r["argv"]).encode())
    if r["kind"] == "dns.query" and r["name"] != "www.example.com":
        names.append(r["name"].replace(".t.example.org", ""))
for pair in zip(names, names[1:]):
    look("names", "".join(pair).encode())
if len(names) < 40:
    bad.append(f"only {len(names)} names were recorded")
for stream, parts in streams.items():
    text = "".join(parts)
    look(stream, text.encode())
    planted = re.findall(r"<([^<>]+)>(.*?)<\.>", text, re.S)
    if len(planted) != 26:
        bad.append(f"{stream}: {len(planted)} forms are there")
    for name, form in planted:
        left = letters(re.sub(r"\[REDACTED:[A-Z]+:[0-9a-f]{8}\]", "", form).encode()).strip(b"=")
        if "[REDACTED:" not in form or len(left) > (6 if name.startswith("base") or name == "ansi" else 1):
            bad.append(f"{stream}: {name} was not found whole: {form}")
text = "".join(streams["stdout"])
splits = re.findall(r"^(.*)\|$", text, re.M)
if len(splits) != len(os.environ["SECRET"]) - 1 or any(not re.fullmatch(r"(\[REDACTED:[A-Z]+:[0-9a-f]{8}\])+", s) for s in splits):
    bad.append("split writes: " + str(splits))
print("\n".join(bad))
sys.exit(bool(bad))
EOP
check 'every form of it was found, and nothing that was written or made holds it' python3 "$work/search.py" "$work" "$state"
check 'the record is what it was made to be' "$bin/vitrine" verify --state "$state" "$id"

done_testing
