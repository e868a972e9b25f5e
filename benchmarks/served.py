"""One `otel-attrib up` in a process of its own, with an embedded store and free ports."""

import json
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

__all__ = ["served"]


@contextmanager
def served(folder: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Its process id, and the addresses that it printed; store and spool stand in `folder`."""
    command = [sys.executable, "-m", "otel_attrib", "up", "--no-agent", "--json"]
    ports = [f"--{name}-port=0" for name in ("otlp-grpc", "otlp-http", "clickhouse", "http")]
    place = ["--dsn", f"chdb://{folder}/store", "--spool", f"{folder}/spool"]
    server = subprocess.Popen([*command, *place, *ports], stdout=subprocess.PIPE)
    try:
        assert server.stdout
        yield server.pid, json.loads(server.stdout.readline())
    finally:
        server.terminate()
        server.wait(60)
