"""A full disk refuses with 503 and Retry-After, loses nothing it acknowledged, and ends by itself."""

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from otel_attrib import testing_otlp as bodies

pytestmark = pytest.mark.faults

HEADERS = {"Content-Type": "application/x-protobuf"}
SPANS = 200
# Not typed: conftest modules cannot be imported.
Up = Any
Mount = Callable[[str], Path]


@pytest.fixture
def mount(tmp_path: Path) -> Iterator[Mount]:
    """Make a file system of a given size, in memory."""
    mounted: list[Path] = []

    def make(size: str) -> Path:
        place = tmp_path / f"disk{len(mounted)}"
        place.mkdir()
        done = subprocess.run(
            ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", place], capture_output=True
        )
        if done.returncode:
            pytest.skip(f"no tmpfs can be mounted here: {done.stderr.decode().strip()}")
        mounted.append(place)
        return place

    yield make
    for place in mounted:
        subprocess.run(["umount", "--lazy", place], check=True)


def post(service: Up) -> httpx.Response:
    """Send one request with spans of its own."""
    body = bodies.traces(SPANS, name="full").SerializeToString()
    return httpx.post(f"{service['otlp_http']}/v1/traces", content=body, headers=HEADERS, timeout=60)


def send_until_refused(service: Up, most: int = 2000) -> tuple[int, httpx.Response]:
    """The number of acknowledged requests, and the refusal after them."""
    for number in range(most):
        answer = post(service)
        if answer.status_code != 200:
            return number, answer
    pytest.fail(f"{most} requests were accepted")


def send_until_accepted(service: Up, seconds: float = 60) -> None:
    """The service takes requests again, without a restart."""
    end = time.monotonic() + seconds
    while post(service).status_code != 200:
        assert time.monotonic() < end, "requests are still refused"
        time.sleep(0.2)


@pytest.fixture
def server(tmp_path: Path) -> Iterator[Callable[[], int]]:
    """Start a ClickHouse server stand-in; its port is the same each time."""
    processes: list[subprocess.Popen[bytes]] = []
    ports = [0]

    def start() -> int:
        command = [
            sys.executable,
            "-m",
            "otel_attrib.testing_clickhouse",
            str(tmp_path / "server"),
            str(ports[0]),
        ]
        process = subprocess.Popen(command, stdout=subprocess.PIPE)
        processes.append(process)
        assert process.stdout
        ports[0] = int(process.stdout.readline())
        return ports[0]

    def stop() -> None:
        for process in processes:
            process.kill()
            process.wait()
            assert process.stdout
            process.stdout.close()
        processes.clear()

    start.stop = stop  # type: ignore[attr-defined]
    yield start
    stop()


@pytest.mark.parametrize("limited_by", ["disk", "limit"])
def test_spool_full_while_the_store_is_away(
    up: Callable[..., Up], mount: Mount, server: Any, tmp_path: Path, limited_by: str
) -> None:
    """The spool takes what it can hold, then refuses; when the store is back everything is in it once."""
    from otel_attrib.schema.migrate import migrate
    from otel_attrib.schema.store import open_store

    dsn = f"clickhouse://127.0.0.1:{server()}/otel_attrib"
    with open_store(dsn) as store:
        migrate(store)
    spool = mount("1m") if limited_by == "disk" else tmp_path / "spool"
    limit = ("--spool-limit=1MiB",) if limited_by == "limit" else ()
    service = up(f"--dsn={dsn}", f"--spool={spool}", *limit)
    server.stop()
    accepted, refusal = send_until_refused(service)

    assert accepted > 10
    assert (503, "5") == (refusal.status_code, refusal.headers["retry-after"])
    assert 503 == post(service).status_code
    server()
    send_until_accepted(service)
    # One more, the one just accepted.
    spans = (accepted + 1) * SPANS
    service.wait_for(
        "SELECT count(), uniqExact(SpanId) FROM otel_attrib.otel_traces WHERE SpanName = 'full'",
        f"{spans}\t{spans}",
    )
    assert 0 == service.stop()


def test_whole_disk_full(up: Callable[..., Up], mount: Mount) -> None:
    """Store and spool on one full disk: refused; with room again, everything acknowledged is there once."""
    disk = mount("80m")
    service = up(directory=disk)
    assert 200 == post(service).status_code
    service.wait_for("SELECT count() FROM otel_traces WHERE SpanName = 'full'", f"{SPANS}")
    ballast = disk / "ballast"
    with ballast.open("wb") as file:
        try:
            while True:
                file.write(bytes(1 << 16))
                file.flush()
        except OSError:
            pass
    accepted, refusal = send_until_refused(service)
    assert 503 == refusal.status_code

    os.unlink(ballast)
    send_until_accepted(service)
    spans = (accepted + 2) * SPANS
    service.wait_for(
        "SELECT count(), uniqExact(SpanId) FROM otel_traces WHERE SpanName = 'full'", f"{spans}\t{spans}", 90
    )
    assert 0 == service.stop()
