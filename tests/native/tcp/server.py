"""A server with a known think time, for tests of the TCP tools: python server.py THINK_S LAG_S BYTES.

Answers every request line. It waits LAG_S between the moment a request is there to be read and reading it,
THINK_S before it answers, and answers with a header and then BYTES of body. Prints its port; for every
request the CLOCK_MONOTONIC time of its read in nanoseconds; and for every connection that ends how many
segments the kernel sent again (`tcp_info.tcpi_total_retrans`).
"""

import selectors
import socket
import struct
import sys
import threading
import time

THINK_S, LAG_S, BYTES = float(sys.argv[1]), float(sys.argv[2]), int(sys.argv[3])


def serve(connection: socket.socket) -> None:
    """Answer one connection until it ends."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    waiting = selectors.DefaultSelector()
    waiting.register(connection, selectors.EVENT_READ)
    request = b""
    while True:
        waiting.select()
        time.sleep(LAG_S)
        part = connection.recv(65536)
        print("read", time.monotonic_ns(), flush=True)
        request += part
        if not part:
            break
        if not request.endswith(b"\n"):
            continue
        request = b""
        time.sleep(THINK_S)
        connection.sendall(b"head")
        connection.sendall(bytes(BYTES))
    info = connection.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 232)
    print("resent", struct.unpack_from("I", info, 100)[0], flush=True)


# One socket for both families, as servers have it: its IPv4 peers are ::ffff:a.b.c.d.
both = socket.has_dualstack_ipv6()
family = socket.AF_INET6 if both else socket.AF_INET
with socket.create_server(("", 0), family=family, dualstack_ipv6=both) as server:
    print("port", server.getsockname()[1], flush=True)
    while True:
        threading.Thread(target=serve, args=(server.accept()[0],), daemon=True).start()
