"""The agent inside `up` and beside it: readings of this machine in `samples`, nothing where it is off."""

import os
import re
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from typing import Any

import pytest

from otel_attrib.collector.agent.encode import Encoder
from otel_attrib.collector.agent.source import series
from otel_attrib.testing_agent import readings_of

# Not typed: conftest modules cannot be imported.
Up = Any
Start = Callable[..., Up]
SOURCES = "cpu,pressure,clock,network"
ON = {
    "OTEL_ATTRIB_AGENT": "on",
    "OTEL_ATTRIB_AGENT_SEND": "500ms",
    "OTEL_ATTRIB_AGENT_SOURCES": SOURCES,
    "OTEL_ATTRIB_AGENT_EVERY": "agent=500ms",
}
SEEN = "SELECT count() FROM samples WHERE metric = 'system.cpu.utilization' AND node = '{node}'"


def wait_for_rows(up: Up, statement: str, least: int = 1, seconds: float = 30.0) -> int:
    """Until the count is as high, or the time is over; the count."""
    end = time.monotonic() + seconds
    while (found := int(up.query(statement))) < least and time.monotonic() < end:
        time.sleep(0.1)
    return found


@pytest.fixture(scope="module")
def service(up: Start) -> Up:
    """One `up` with its agent on."""
    return up(**ON)


def test_up_reads_its_own_machine(service: Up) -> None:
    """CPU utilisation of this node arrives without a socket, within its bounds, as the agent's."""
    statement = SEEN.format(node=socket.gethostname())

    assert wait_for_rows(service, statement, 3) >= 3
    assert ["otel-attrib-agent\t1"] == service.query(
        "SELECT DISTINCT service, value BETWEEN 0 AND 1 FROM samples WHERE metric = 'system.cpu.utilization'"
    ).splitlines()
    counters = service.status()["counters"]
    assert counters['received_requests_total{signal="metrics",transport="agent"}'] >= 2


def test_it_tells_of_itself(service: Up) -> None:
    """Each source's success and cost are rows too."""
    names = (
        "SELECT uniqExact(attributes['slatag.agent.source']) FROM samples WHERE metric = '{}' AND value > 0"
    )

    assert wait_for_rows(service, names.format("slatag.agent.source.success"), 4) >= 4
    assert wait_for_rows(service, names.format("slatag.agent.source.cpu_time"), 4) >= 4


def test_nothing_is_lost_when_it_stops(up: Start) -> None:
    """Readings up to the stop are in the store afterwards: the last request leaves before the end."""
    started = up(**{**ON, "OTEL_ATTRIB_AGENT_SEND": "1h"})
    time.sleep(2.5)
    began = time.monotonic()
    assert 0 == started.stop()
    assert time.monotonic() - began < 15
    again = up(directory=started.directory)

    assert wait_for_rows(again, SEEN.format(node=socket.gethostname())) >= 1


@pytest.fixture(scope="module")
def silent(up: Start) -> Up:
    """One `up` without its agent, although the environment says on."""
    return up("--no-agent", **ON)


def test_off_reads_nothing(silent: Up) -> None:
    """With `--no-agent` no metrics request is made."""
    time.sleep(1.5)

    assert not [name for name in silent.status()["counters"] if "metrics" in name]
    assert "0" == silent.query("SELECT count() FROM samples")


class Command:
    """`otel-attrib agent` as a process of its own, reading the CPUs ten times a second."""

    def __init__(self, endpoint: str, **environment: str) -> None:
        """Start it."""
        words = [sys.executable, "-m", "otel_attrib", "agent", "--sources", "cpu", "--every", "cpu=100ms"]
        names = {"OTEL_RESOURCE_ATTRIBUTES": "host.name=node7,service.name=engine"}
        given = {"OTEL_EXPORTER_OTLP_ENDPOINT": endpoint, "OTEL_ATTRIB_AGENT_SEND": "300ms"}
        self.process = subprocess.Popen(
            words, stderr=subprocess.PIPE, text=True, env=os.environ | names | given | environment
        )

    def end(self) -> list[str]:
        """Ask it to end; what it said."""
        self.process.send_signal(signal.SIGTERM)
        told = self.process.communicate(timeout=20)[1].splitlines()
        assert 0 == self.process.returncode, told
        return told


@pytest.mark.parametrize("port", ["otlp_http", "otlp_grpc"])
def test_the_command_beside_it(up: Start, port: str) -> None:
    """`otel-attrib agent` sends this node's counters over HTTP and gRPC, and ends on SIGTERM with a count."""
    started = up()
    protocol = {"otlp_grpc": "grpc", "otlp_http": "http/protobuf"}[port]
    command = Command(started[port], OTEL_EXPORTER_OTLP_PROTOCOL=protocol)
    found = wait_for_rows(started, SEEN.format(node="node7"), 10)
    told = command.end()

    assert found >= 10
    assert ", 0 lost" in told[-1]
    assert "otel-attrib-agent" == started.query("SELECT DISTINCT service FROM samples")


def test_a_crash_of_the_collector_loses_nothing_and_doubles_nothing(up: Start) -> None:
    """`up` is killed and comes back: there are as many rows as the agent counted, none twice."""
    first = up()
    command = Command(first["otlp_http"])
    assert wait_for_rows(first, SEEN.format(node="node7"), 5) >= 5
    first.kill()
    time.sleep(3.0)
    port = first["otlp_http"].rpartition(":")[2]
    again = up("--otlp-http-port", port, directory=first.directory)
    wait_for_rows(again, f"{SEEN.format(node='node7')} AND time > now64() - INTERVAL 1 SECOND")
    told = command.end()
    sent, lost = (int(word) for word in re.findall(r"(\d+) readings sent, (\d+) lost", told[-1])[0])

    assert 0 == lost
    assert sent == wait_for_rows(again, "SELECT count() FROM samples", sent)
    assert sent == int(again.query("SELECT uniqExact(metric, attributes, time) FROM samples"))
    assert 1 == sum("they wait" in line for line in told)
    assert 1 == sum("takes readings again, 0 are lost" in line for line in told)


def test_every_kind_of_point_arrives_as_it_was(silent: Up) -> None:
    """Gauges and totals, cards and processes: value, time, unit, start and attributes are those read."""
    import httpx

    started, noon = silent, 1_760_000_000_000_000_000
    card = series("gpu_clock", "0:1", slatag__gpu__uuid="GPU-1")
    errors = series("xid", "0")
    waits = series("run_queue_wait", process__pid="77", slatag__process__role="worker")
    batches = [
        (noon + n * 100_000_000, readings_of([(card, 1980.5 + n), (errors, float(n)), (waits, 0.25 * n)]))
        for n in range(3)
    ]
    ((body, _),) = Encoder({"host.name": "node7", "service.name": "otel-attrib-agent"}).requests(batches)
    headers = {"Content-Type": "application/x-protobuf"}
    assert 200 == httpx.post(f"{started['otlp_http']}/v1/metrics", content=body, headers=headers).status_code
    assert 9 == wait_for_rows(started, "SELECT count() FROM samples", 9)

    assert [f"{n}\thw.errors\tnode7\t0\tgpu\txid\t{n}" for n in range(3)] == started.query(
        "SELECT intDiv(toUnixTimestamp64Micro(time) % 1000000, 100000), metric, node, device, "
        "attributes['hw.type'], attributes['error.type'], value FROM samples "
        "WHERE metric = 'hw.errors' ORDER BY time"
    ).splitlines()
    assert [
        "node7\t0:1\tGPU-1\t1980.5",
        "node7\t0:1\tGPU-1\t1981.5",
        "node7\t0:1\tGPU-1\t1982.5",
    ] == started.query(
        "SELECT node, device, attributes['slatag.gpu.uuid'], value FROM samples "
        "WHERE metric = 'hw.gpu.clock.graphics' ORDER BY time"
    ).splitlines()
    assert ["77\tworker\t0", "77\tworker\t0.25", "77\tworker\t0.5"] == started.query(
        "SELECT attributes['process.pid'], attributes['slatag.process.role'], value FROM samples "
        "WHERE metric = 'slatag.process.run_queue_wait' ORDER BY time"
    ).splitlines()
    assert ["s\ttrue\t2\t0", "s\ttrue\t2\t1", "s\ttrue\t2\t2"] == started.query(
        "SELECT MetricUnit, IsMonotonic, AggregationTemporality, "
        "intDiv(toUnixTimestamp64Nano(TimeUnix) - toUnixTimestamp64Nano(StartTimeUnix), 100000000) "
        "FROM otel_metrics_sum WHERE MetricName = 'slatag.process.run_queue_wait' ORDER BY TimeUnix"
    ).splitlines()
