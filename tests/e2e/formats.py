"""The rules of other tools' formats, held against files: formats.py FORMAT FILE CANONICAL.

CANONICAL is what `vitrine replay --json` says of the same session.
"""
import base64, collections, csv, datetime, io, json, sys

form, path, canonical = sys.argv[1:]
raw = open(path, "rb").read()
text = raw.decode("utf-8")
records = [json.loads(line) for line in open(canonical, encoding="utf-8")]


def nest(spans, track):
    """Complete events of one thread: any two are apart, or one is within the other."""
    open_ends = []
    for start, end in sorted(spans, key=lambda s: (s[0], -s[1])):
        while open_ends and open_ends[-1] <= start:
            open_ends.pop()
        assert not open_ends or end <= open_ends[-1], ("overlap on track", track, start, end)
        open_ends.append(end)


def perfetto():
    trace = json.loads(text)
    events = trace["traceEvents"]
    named = collections.defaultdict(set)
    spans, flows, connections = collections.defaultdict(list), {}, {}
    told = set()
    for e in events:
        assert e["ph"] in "MXibesf" and isinstance(e["pid"], int) and isinstance(e["tid"], int) and e["pid"] > 0, e
        assert isinstance(e["ts"], (int, float)) and e["ts"] >= 0 and isinstance(e["name"], str) and e["name"], e
        if "seq" in e.get("args", {}):
            told.add(e["args"]["seq"])
        if e["ph"] == "M":
            assert e["name"] in ("process_name", "thread_name") and e["args"]["name"], e
            named[e["pid"]].add(e["name"])
        elif e["ph"] == "X":
            assert e["dur"] >= 0, e
            # Whole nanoseconds, so that sums of fractions do not differ by rounding.
            start = round(e["ts"] * 1000)
            spans[e["pid"], e["tid"]].append((start, start + round(e["dur"] * 1000)))
        elif e["ph"] == "i":
            assert e["s"] in "gpt", e
        elif e["ph"] in "sf":
            assert e["ph"] == "s" or e["bp"] == "e"
            flows.setdefault(e["id"], []).append((e["ts"], e["ph"], e["pid"]))
        else:
            connections.setdefault(e["id"], []).append((e["ph"], e["ts"]))
    for track, of_track in spans.items():
        nest(of_track, track)
    assert {e["pid"] for e in events} == set(named) and all(len(names) == 2 for names in named.values())
    for steps in flows.values():
        assert [s[1] for s in sorted(steps, key=lambda s: (s[0], s[1] != "s"))] == ["s", "f"], steps
        for ts, _, pid in steps:
            assert any(a <= round(ts * 1000) <= b for a, b in spans[pid, pid]), "a flow ends outside every span"
    for steps in connections.values():
        assert [s[0] for s in steps] == ["b", "e"] * (len(steps) // 2), steps
        assert all(a[1] <= b[1] for a, b in zip(steps, steps[1:]))
    forks = sum(r["kind"] == "process.fork" for r in records)
    assert len(flows) <= forks and len({p for p, _ in spans}) >= min(forks, 1)
    wanted = {r["seq"] for r in records if r["kind"] != "process.fork"}
    assert told >= wanted, sorted(wanted - told)[:10]


def when(row):
    moment = datetime.datetime.fromisoformat(row["datetime"][:26] + "+00:00")
    assert row["datetime"].endswith("Z") and row["message"] and row["timestamp_desc"], row
    return moment


def timesketch():
    rows = [json.loads(line) for line in text.splitlines()]
    assert [r["seq"] for r in rows] == [r["seq"] for r in records]
    for row, record in zip(rows, records):
        assert int(when(row).timestamp() * 1e6 + 0.5) == row["timestamp"] or abs(when(row).timestamp() * 1e6 - row["timestamp"]) < 2
        assert row["kind"] == record["kind"] and row["message"].startswith(record["kind"])
        assert not any("." in key for key in row)
        if "path" in record and "path_b64" not in record:
            assert row["path"] == record["path"]
    assert any("tag" in row and len(row["tag"]) == len(row["attack_reason"]) for row in rows)


def sheet():
    assert b"\n" not in raw.replace(b"\r\n", b""), "an end of line within a cell"
    rows = list(csv.DictReader(io.StringIO(text, newline=""), strict=True))
    assert [int(r["seq"]) for r in rows] == [r["seq"] for r in records]
    for row, record in zip(rows, records):
        when(row)
        assert None not in row and None not in row.values(), "a row that is too long or too short"
        for name, cell in row.items():
            number = cell.lstrip("-").isdigit()
            assert number or cell[:1] not in tuple("=+-@|%\t"), (name, cell)
            assert all(c.isprintable() for c in cell), (name, cell)
        assert json.loads(row["record"]) == record


def cast(version):
    head, *events = [json.loads(line) for line in text.splitlines()]
    assert head["version"] == version and isinstance(head["timestamp"], int) and head["title"]
    if version == 3:
        assert head["term"]["cols"] > 0 and head["term"]["rows"] > 0
    else:
        assert head["width"] > 0 and head["height"] > 0
    shown, at = "", 0.0
    for moment, code, data in events:
        assert code in ("oimrx" if version == 3 else "oimr") and isinstance(data, str)
        assert moment >= (0 if version == 3 else at), "time goes back"
        at = moment
        shown += data if code == "o" else ""
    said = b"".join(base64.b64decode(r["data_b64"]) if "data_b64" in r else r["data"].encode() for r in records if r["kind"] == "output")
    assert shown.replace("\r\n", "\n") == said.decode("utf-8", "replace")
    if version == 3:
        end = [r for r in records if r["kind"] == "exec.end"][-1]
        assert events[-1][1:] == ["x", str(end.get("exit_code", 128 + end.get("signal", 0)))]
    assert sum(e[1] == "m" for e in events) >= sum(r["kind"] == "process.exec" for r in records)
    return shown


if form == "perfetto":
    perfetto()
elif form == "timesketch":
    timesketch()
elif form == "timesketch-csv":
    sheet()
else:
    shown = cast(3 if form == "asciicast" else 2)
    assert "\u00e9" in shown, "a character that two records share"
# Whatever a session named: nothing of it can reach a terminal as a control.
assert not any(ord(c) < 32 and c not in "\r\n" or 0x7f <= ord(c) < 0xa0 for c in text), "a control character"
