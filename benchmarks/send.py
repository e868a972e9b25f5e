"""A sender outside the measured process: ready-made OTLP bytes over gRPC or HTTP, many in flight."""

import http.client
import subprocess
import sys
import tempfile
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import local
from urllib.parse import urlsplit

import grpc

__all__ = ["send"]

_METHOD = "/opentelemetry.proto.collector.trace.v1.TraceService/Export"
_TYPE = {"content-type": "application/x-protobuf"}


def send(way: str, target: str | int, bodies: list[bytes], connections: int, salt: bytes = b"") -> None:
    """Send every body and wait for every acknowledgement, in a process of its own.

    `salt` becomes an unknown field, so that the same spans are not taken for a retry.
    """
    address = target if isinstance(target, str) else f"127.0.0.1:{target}"
    with tempfile.TemporaryDirectory() as folder:
        for number, body in enumerate(bodies):
            Path(folder, f"{number:06d}").write_bytes(body + _unknown(salt))
        subprocess.run([sys.executable, __file__, way, address, folder, str(connections)], check=True)


def _unknown(salt: bytes) -> bytes:
    return bytes([0xFA, 0x3E, len(salt)]) + salt if salt else b""  # field 1007, length-delimited


def _grpc(address: str, bodies: list[bytes], connections: int) -> None:
    with grpc.insecure_channel(urlsplit(address).netloc or address) as channel:
        export: Callable[..., bytes] = channel.unary_unary(_METHOD)
        with ThreadPoolExecutor(connections) as pool:
            list(pool.map(lambda body: export(body, timeout=60), bodies))


def _http(address: str, bodies: list[bytes], connections: int) -> None:
    mine = local()

    def post(body: bytes) -> None:
        if not hasattr(mine, "connection"):
            mine.connection = http.client.HTTPConnection(urlsplit(address).netloc or address, timeout=60)
        mine.connection.request("POST", "/v1/traces", body, _TYPE)
        answer = mine.connection.getresponse()
        answer.read()
        if answer.status != 200:
            raise SystemExit(f"HTTP {answer.status}")

    with ThreadPoolExecutor(connections) as pool:
        list(pool.map(post, bodies))


if __name__ == "__main__":
    way, address, folder, connections = sys.argv[1:]
    everything = [path.read_bytes() for path in sorted(Path(folder).iterdir())]
    (_grpc if way == "grpc" else _http)(address, everything, int(connections))
