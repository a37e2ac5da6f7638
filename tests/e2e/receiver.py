#!/usr/bin/env python3
"""A strict receiver of records by HTTP, which does as a script of faults says.

    receiver.py DIR

serves HEC (/services/collector), _bulk, OTLP (/v1/logs), a webhook (/hook) and ClickHouse (/ch) on a port of loopback
that it writes to DIR/port. What it takes is appended to DIR/got.PATH, a line "SESSION SEQ" each, checkpoints left out;
what breaks a protocol goes to DIR/violations; with DIR/keep in place all bodies are kept, in DIR/body.PATH. DIR/faults is a list of what to do with the next requests, each used once: {"status": 503},
{"reset": true}, {"hang": SECONDS}, {"items": {"1": 429}}, {"retry_after": "2"} beside a status. DIR/rules holds for all
requests: {"limit": BYTES}, {"poison": SEQ}, with {"silent": true} without saying
which, {"down": true}, {"slow": SECONDS}, {"balanced": true}: two indexers, told apart by a cookie.
"""
import base64, gzip, hashlib, hmac, http.server, json, os, socket, socketserver, struct, sys, threading, time
import urllib.parse

DIR = sys.argv[1]
LOCK = threading.Lock()
SECRET = b"0123456789abcdef0123456789abcdef"
ACKS = {}  # id: how often it was asked for
TABLES = set()
RUNNING = 0  # requests that are being answered


def note(name, text):
    with open(os.path.join(DIR, name), "a") as out:
        out.write(text + "\n")


def load(name, otherwise):
    try:
        with open(os.path.join(DIR, name)) as file:
            return json.load(file)
    except (FileNotFoundError, ValueError):
        return otherwise


def next_fault():
    with LOCK:
        faults = load("faults", [])
        if not faults:
            return {}
        with open(os.path.join(DIR, "faults"), "w") as out:
            json.dump(faults[1:], out)
        return faults[0]


def strict(text):
    def pairs(items):
        if len(dict(items)) != len(items):
            raise ValueError("a key twice")
        return dict(items)
    return json.loads(text, object_pairs_hook=pairs)


def uid(record):
    """(session, seq) of a record in the canonical form or ECS."""
    if "event" in record and "id" in record["event"]:
        session, seq = record["event"]["id"].split("-")[:2]
        return session, int(seq)
    return record["session"], record["seq"]


class Receiver(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *arguments):
        pass

    def answer(self, status, body, headers=()):
        body = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        for name, value in headers:
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def body(self):
        data = self.rfile.read(int(self.headers["Content-Length"]))
        if self.headers.get("Content-Encoding") == "gzip":
            data = gzip.decompress(data)
        return data

    def demand(self, good, what):
        if not good:
            note("violations", f"{self.path}: {what}")
            raise ValueError(what)

    def place(self):
        return self.path.strip("/").split("?")[0].replace("/", "_")

    def take(self, records):
        name = "got." + self.place()
        with LOCK:
            for session, seq in records:
                if seq:
                    note(name, f"{session} {seq}")

    def do_POST(self):
        data = self.body()
        rules, fault = load("rules", {}), {}
        asks = self.path.startswith("/services/collector/ack")
        if not asks:
            fault = next_fault()
        if os.path.exists(os.path.join(DIR, "keep")):
            note("body." + self.place(), data.decode())
        global RUNNING
        with LOCK:
            RUNNING += 1
        note("requests", json.dumps({"time": time.time(), "path": self.path, "bytes": len(data), "fault": fault,
                                     "id": self.headers.get("webhook-id"), "running": RUNNING}))
        try:
            self.respond(data, rules, fault)
        finally:
            with LOCK:
                RUNNING -= 1

    def respond(self, data, rules, fault):
        if rules.get("slow"):
            time.sleep(rules["slow"])
        if fault.get("hang"):
            time.sleep(fault["hang"])
        if fault.get("reset") or rules.get("down"):
            # With a linger of nothing the peer sees a reset instead of an end.
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
            self.connection.close()
            self.close_connection = True
            return
        if fault.get("status"):
            after = [("Retry-After", fault["retry_after"])] if "retry_after" in fault else []
            self.answer(fault["status"], fault.get("body", {}), after)
            return
        if len(data) > rules.get("limit", 1 << 30):
            self.answer(413, {"error": "too large"})
            return
        try:
            self.dispatch(data, rules, fault)
        except (ValueError, KeyError, UnicodeDecodeError) as e:
            note("violations", f"{self.path}: {e!r}: {data[:200]!r}")
            self.answer(400, {"text": "Invalid data format", "code": 6})

    def dispatch(self, data, rules, fault):
        path = urllib.parse.urlsplit(self.path)
        if path.path == "/services/collector/event":
            self.hec(data, rules)
        elif path.path == "/services/collector/ack":
            self.ack(strict(data))
        elif path.path == "/_bulk":
            self.bulk(data, rules, fault)
        elif path.path == "/v1/logs":
            self.otlp(data, rules, fault)
        elif path.path == "/hook":
            self.hook(data)
        elif path.path == "/ch":
            self.clickhouse(data, urllib.parse.parse_qs(path.query))
        else:
            self.answer(404, {"error": "no such place"})

    def hec(self, data, rules):
        if self.headers["Authorization"] != "Splunk tok":
            self.answer(403, {"text": "Invalid token", "code": 4})
            return
        self.demand(len(self.headers["X-Splunk-Request-Channel"]) == 36, "channel")
        text, at, records = data.decode(), 0, []
        decoder = json.JSONDecoder()
        while at < len(text):
            item, at = decoder.raw_decode(text, at)
            at += len(text[at:]) - len(text[at:].lstrip()) if text[at:at + 1].isspace() else 0
            self.demand(set(item) <= {"time", "host", "source", "sourcetype", "index", "event"}, "a key")
            self.demand(item["event"] and isinstance(item["time"], float), "event or time")
            records.append(uid(item["event"]))
        poisoned = [i for i, r in enumerate(records) if r[1] == rules.get("poison")]
        if poisoned:
            self.answer(400, {"text": "Invalid data format", "code": 6,
                              **({} if rules.get("silent") else {"invalid-event-number": poisoned[0]})})
            return
        self.take(records)
        with LOCK:
            number = len(ACKS)
            ACKS[number] = 0
        cookie = [("Set-Cookie", f"indexer={number}; Path=/")] if rules.get("balanced") else []
        self.answer(200, {"text": "Success", "code": 0, "ackId": number}, cookie)

    def ack(self, question):
        rules = load("rules", {})
        answers = {}
        for number in question["acks"]:
            ACKS[number] += 1
            answers[str(number)] = ACKS[number] == 2 and not rules.get("no_acks")
            if rules.get("balanced") and self.headers.get("Cookie") != f"indexer={number}":
                answers[str(number)] = False  # it is the other one's
        note("asked", json.dumps(answers))
        self.answer(200, {"acks": answers})

    def bulk(self, data, rules, fault):
        self.demand(self.headers["Content-Type"] == "application/x-ndjson", "content type")
        self.demand(data.endswith(b"\n"), "no last end of line")
        lines = data.split(b"\n")[:-1]
        self.demand(len(lines) % 2 == 0, "odd lines")
        items, records = [], []
        for i in range(0, len(lines), 2):
            action, record = strict(lines[i]), strict(lines[i + 1])
            self.demand(list(action) == ["create"] and set(action["create"]) == {"_index", "_id"}, "action")
            session, seq = uid(record)
            self.demand(action["create"]["_id"] == record["event"]["id"], "_id")
            self.demand(not seq or record["event"]["id"] == f"{session}-{seq}", "event.id")
            status = fault.get("items", {}).get(str(i // 2), 201)
            if seq == rules.get("poison"):
                status = 400
            if status in (201, 409):
                records.append((session, seq))
            item = {"_id": action["create"]["_id"], "status": status}
            if status >= 300:
                item["error"] = {"type": "some_exception", "reason": f"status {status}"}
            items.append({"create": item})
        self.take(records)
        self.answer(200, json.dumps({"took": 1, "errors": any(i["create"]["status"] >= 300 for i in items),
                                     "items": items}, indent=1).encode())

    def otlp(self, data, rules, fault):
        self.demand(self.headers["Content-Type"] == "application/json", "content type")
        request, records = strict(data), []
        self.demand(list(request) == ["resourceLogs"] and request["resourceLogs"], "an empty request")
        for resource in request["resourceLogs"]:
            for scope in resource["scopeLogs"]:
                for record in scope["logRecords"]:
                    self.demand(record["timeUnixNano"].isdigit(), "time")
                    records.append(uid(strict(record["body"]["stringValue"])))
        self.take(records)
        rejected = fault.get("rejected", 0)
        self.answer(200, {"partialSuccess": {"rejectedLogRecords": str(rejected), "errorMessage": "no"}}
                    if rejected else {})

    def hook(self, data):
        ident, when = self.headers["webhook-id"], self.headers["webhook-timestamp"]
        mac = hmac.new(SECRET, f"{ident}.{when}.".encode() + data, hashlib.sha256).digest()
        self.demand(self.headers["webhook-signature"] == "v1," + base64.b64encode(mac).decode(), "signature")
        self.demand(abs(time.time() - int(when)) < 10, "time")
        request = strict(data)
        self.demand(request["type"] == "vitrine.records", "type")
        self.take([uid(r) for r in request["data"]])
        self.answer(204, b"")

    def clickhouse(self, data, query):
        self.demand(self.headers["X-ClickHouse-User"] == "default", "user")
        if "query" not in query:
            self.demand(data.startswith(b"CREATE TABLE IF NOT EXISTS vitrine "), "query")
            TABLES.add("vitrine")
            self.answer(200, b"")
            return
        self.demand(query["query"] == ["INSERT INTO vitrine FORMAT JSONEachRow"], "query")
        if "vitrine" not in TABLES:
            self.answer(404, b"Code: 60. DB::Exception: Table default.vitrine does not exist.")
            return
        rows = [strict(line) for line in data.split(b"\n")[:-1]]
        for row in rows:
            self.demand(set(row) == {"session", "seq", "time_ns", "time", "kind", "record"}, "columns")
            self.demand(uid(strict(row["record"])) == (row["session"], row["seq"]), "record")
        self.take([(row["session"], row["seq"]) for row in rows])
        self.answer(200, b"")


class Server(socketserver.ThreadingMixIn, http.server.HTTPServer):
    daemon_threads = True

    def handle_error(self, request, address):
        pass  # the peer went away: the tests do that


server = Server(("127.0.0.1", 0), Receiver)
with open(os.path.join(DIR, "port.new"), "w") as out:
    out.write(str(server.server_address[1]))
os.rename(os.path.join(DIR, "port.new"), os.path.join(DIR, "port"))
server.serve_forever()
