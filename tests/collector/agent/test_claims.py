"""One counter, two sources: only the better one gives it."""

import subprocess

import pytest

from otel_attrib.collector.agent.processes import EngineProcesses
from otel_attrib.collector.agent.source import Unavailable
from otel_attrib.collector.sources.claims import claim, claimed, release
from otel_attrib.collector.sources.schedstat import Schedstat


def test_a_claim_holds_until_every_claimant_lets_go() -> None:
    """Two that claim the same must both release it before the other source gives it again."""
    assert not claimed("test_counter")
    claim("test_counter")
    claim("test_counter")
    release("test_counter")
    assert claimed("test_counter")
    release("test_counter")
    assert not claimed("test_counter")


def test_schedstat_leaves_run_queue_wait_to_whoever_claims_it() -> None:
    """While the counter is claimed `schedstat` gives nothing, afterwards the waits of the process again."""
    child = subprocess.Popen(["sleep", "60"])
    try:
        source = Schedstat(processes=EngineProcesses(pids=[child.pid], only=True))
        before = [series.counter.key for series, _ in source.read()]
        claim("run_queue_wait")
        during = list(source.read())
        release("run_queue_wait")
        after = [series.counter.key for series, _ in source.read()]
        source.close()
    except Unavailable as fault:
        pytest.skip(str(fault))
    finally:
        child.kill()
        child.wait()

    assert ["run_queue_wait"] == before == after
    assert [] == during
