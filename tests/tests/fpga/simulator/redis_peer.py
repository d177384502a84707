"""A peer that is no redis-server, for what one does not do when it is asked: a small MSS, a window that closes,
replies that are none. It prints what it took: connections, numbers of commands.

    redis_peer.py MSS RECEIVE_BUFFER BYTES_AT_ONCE NAP_S FIRST_REPLY
"""

import socket
import sys
import time

mss, room, at_once = (int(word) for word in sys.argv[1:4])
nap = float(sys.argv[4])
# What the first two connections get, which end then.
loading = b"-LOADING Redis is loading the dataset in memory\r\n"
first = {"loading": loading, "junk": b"HTTP/1.1 400 Bad\r\n", "end": b""}.get(sys.argv[5])

EVENTS = b"$1280\r\n"
listener = socket.socket()
listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
if mss:
    listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, mss)
if room:
    listener.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, room)
listener.bind(("0.0.0.0", 6379))
listener.listen()
print("listens", flush=True)
connections, numbers = 0, []


def serve(connection):
    waiting = b""
    if first is not None and connections <= 2:
        connection.recv(100)
        connection.sendall(first)
        time.sleep(0.1)
        return
    while data := connection.recv(at_once):
        time.sleep(nap)
        waiting += data
        while (at := waiting.find(EVENTS)) >= 0 and len(waiting) >= at + len(EVENTS) + 1282:
            end = at + len(EVENTS) + 1282
            words = waiting[:at].split(b"\r\n")
            assert words[:5] == [b"*5", b"$4", b"XADD", b"$15", b"tare:sim:module"]
            assert waiting[end - 2 : end] == b"\r\n"
            waiting = waiting[end:]
            numbers.append(int(words[6].removesuffix(b"-0")))
            reply = b"%d-0" % numbers[-1]
            connection.sendall(b"$%d\r\n%s\r\n" % (len(reply), reply))
            print(connections, numbers[-1], flush=True)


while True:
    connection, _ = listener.accept()
    connections += 1
    try:
        serve(connection)
    except ConnectionError:
        pass
    connection.close()
