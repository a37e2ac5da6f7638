"""Answers every A question on 127.0.0.1:53 with 127.0.0.1, and every other one with no data."""
import socket

server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
while True:
    query, peer = server.recvfrom(4096)
    end = query.index(b"\0", 12) + 5
    is_a = query[end - 4 : end - 2] == b"\0\x01"
    head = query[:2] + b"\x85\x80\0\x01" + (b"\0\x01" if is_a else b"\0\0") + b"\0\0\0\0"
    answer = b"\xc0\x0c\0\x01\0\x01\0\0\0\x3c\0\x04\x7f\0\0\x01" if is_a else b""
    server.sendto(head + query[12:end] + answer, peer)
