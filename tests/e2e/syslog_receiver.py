#!/usr/bin/env python3
"""A strict syslog receiver: syslog_receiver.py DIR unix|udp|tcp|tls

writes its address to DIR/address and the JSON of each message to DIR/messages; what is no message of RFC 5424, counted
in octets over a stream, goes to DIR/violations. With DIR/drop in place it ends a connection after 20,000 bytes."""
import json, os, re, socket, ssl, sys

DIR, TRANSPORT = sys.argv[1:3]
MESSAGE = re.compile(rb'<(\d{1,3})>1 \d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z [!-~]{1,255} vitrine - [!-~]{1,32} '
                     rb'\[vitrine@32473 session="([0-9a-f]{12})" seq="(\d+)"\] (.*)', re.S)


def note(name, data):
    with open(os.path.join(DIR, name), "ab") as out:
        out.write(data + b"\n")


def take(message):
    match = MESSAGE.fullmatch(message)
    if not match or int(match[1]) > 191 or any(b < 0x20 for b in message):
        note("violations", message[:300])
        return
    record = json.loads(match[4])
    if (record["session"], record["seq"]) != (match[2].decode(), int(match[3])):
        note("violations", b"another record: " + message[:300])
    note("messages", match[4])


def stream(connection):
    data, total = b"", 0
    while True:
        try:
            part = connection.recv(65536)
        except OSError:
            return
        if not part:
            if data:
                note("cut", data[:100])
            return
        data += part
        total += len(part)
        if total > 20000 and os.path.exists(os.path.join(DIR, "drop")):
            os.unlink(os.path.join(DIR, "drop"))
            connection.close()
            return
        while True:
            count, blank, rest = data.partition(b" ")
            if not blank:
                break
            if not count.isdigit() or count.startswith(b"0"):
                note("violations", b"no count: " + data[:100])
                return
            if len(rest) < int(count):
                break
            take(rest[:int(count)])
            data = rest[int(count):]


def publish(address):
    with open(os.path.join(DIR, "address.new"), "w") as out:
        out.write(address)
    os.rename(os.path.join(DIR, "address.new"), os.path.join(DIR, "address"))


if TRANSPORT == "unix":
    server = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
    server.bind(os.path.join(DIR, "log"))
    publish(os.path.join(DIR, "log"))
elif TRANSPORT == "udp":
    server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
    server.bind(("127.0.0.1", 0))
    publish("127.0.0.1:%d" % server.getsockname()[1])
else:
    server = socket.socket()
    if os.path.exists(os.path.join(DIR, "drop")):
        server.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)  # what is not read is still the sender's
    server.bind(("127.0.0.1", 0))
    server.listen()
    publish("localhost:%d" % server.getsockname()[1])
while TRANSPORT in ("unix", "udp"):
    take(server.recv(1 << 20))
while True:
    connection, _ = server.accept()
    if TRANSPORT == "tls":
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(os.path.join(DIR, "cert.pem"), os.path.join(DIR, "key.pem"))
        try:
            connection = context.wrap_socket(connection, server_side=True)
        except (OSError, ssl.SSLError):
            continue
    stream(connection)
