"""The agent's sources as doctor sees them: what is there, and what would bring the rest."""

import pytest

from otel_attrib.collector.agent.catalogue import SOURCES
from otel_attrib.collector.agent.source import Source, Unavailable
from otel_attrib.doctor import agent as module
from otel_attrib.doctor.check import Surroundings
from otel_attrib.testing_agent import FakeSource

HERE = Surroundings(environ={})


def test_this_machine() -> None:
    """Every source that needs no compiler is either read or named with a reason."""
    found = list(module.agent(HERE))
    told = " ".join(finding.text for finding in found)

    assert {"OK"} == {finding.level for finding in found}
    assert all(name in told for name, place in SOURCES.items() if not place.startswith("ebpf."))


def test_what_is_missing_is_told_and_what_was_opened_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    """One source answers, another says why it cannot."""
    opened = FakeSource(list, "quick")

    def absent() -> Source:
        raise Unavailable("no driver: install one")

    monkeypatch.setattr(
        "otel_attrib.collector.agent.agent.makers", lambda names: {"quick": lambda: opened, "cards": absent}
    )
    texts = [finding.text for finding in module.agent(HERE)]

    assert ["reads here: quick", "cards: no driver: install one"] == texts
    assert opened.closed


def test_nothing_to_read_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine on which no source answers has no evidence, and that is worth a look."""
    monkeypatch.setattr("otel_attrib.collector.agent.agent.makers", lambda names: {})

    assert ["WARN"] == [finding.level for finding in module.agent(HERE)]


def test_switched_off_is_told() -> None:
    """With OTEL_ATTRIB_AGENT=off the first line says so."""
    first = next(iter(module.agent(Surroundings(environ={"OTEL_ATTRIB_AGENT": "off"}))))

    assert "off" in first.text
