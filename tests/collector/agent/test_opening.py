"""Sources that are not there: said once, tried again, and nobody waits for them."""

import logging
import threading

import pytest

from otel_attrib.collector.agent.opening import AGAIN_S, Opening, opened
from otel_attrib.collector.agent.source import Source, Unavailable
from otel_attrib.testing_agent import FakeSource, StillClock, wait_until

LACK = "no NVIDIA driver: install one and it is read"


class Driver:
    """Something that a source needs, and that may come later."""

    def __init__(self) -> None:
        """Not there."""
        self.there = False
        self.tries = 0

    def open(self) -> Source:
        """Open what needs it."""
        self.tries += 1
        if not self.there:
            raise Unavailable(LACK)
        return FakeSource(list, "cards")


def test_what_is_missing_is_said_once_and_found_later(caplog: pytest.LogCaptureFixture) -> None:
    """Told at the first try, silent after that, opened when the driver has come, which is told as well."""
    caplog.set_level(logging.INFO)
    driver, taken = Driver(), []
    still = StillClock()
    opening = Opening(
        {"cards": driver.open}, lambda name, source: taken.append(name), ["cards"], still.clock.steady_s
    )
    for _ in range(3):
        opening.open_all()
    said = [record.getMessage() for record in caplog.records]
    driver.there = True
    opening.open_all()

    assert [f"cards: {LACK}"] == said
    assert (["cards"], {}) == (taken, opening.missing)
    assert "reads cards" == caplog.records[-1].getMessage()


@pytest.mark.parametrize(("asked", "level"), [(["cards"], logging.WARNING), ([], logging.INFO)])
def test_loud_only_where_it_was_asked_for(
    asked: list[str], level: int, caplog: pytest.LogCaptureFixture
) -> None:
    """A machine without GPUs is no fault unless somebody named that source."""
    caplog.set_level(logging.INFO)
    Opening(
        {"cards": Driver().open}, lambda name, source: None, asked, StillClock().clock.steady_s
    ).open_all()

    assert [level] == [record.levelno for record in caplog.records]


def test_it_is_tried_every_few_minutes() -> None:
    """Looking again and again tries once, then again when the time has come."""
    driver, still = Driver(), StillClock()
    opening = Opening({"cards": driver.open}, lambda name, source: None, [], still.clock.steady_s)
    for _ in range(5):
        opening.look()
        assert wait_until(lambda: driver.tries >= 1)
    still.pass_s(AGAIN_S)

    def tried_again() -> bool:
        opening.look()
        return driver.tries == 2

    assert 1 == driver.tries
    assert wait_until(tried_again)


def test_a_source_that_hangs_while_it_opens_is_not_opened_twice() -> None:
    """`look` returns at once, and starts no second thread beside the one that hangs."""
    go, still, tries = threading.Event(), StillClock(), []

    def hang() -> Source:
        tries.append(1)
        go.wait(20)
        return FakeSource(list)

    opening = Opening({"slow": hang}, lambda name, source: None, [], still.clock.steady_s)
    for _ in range(5):
        opening.look()
        still.pass_s(AGAIN_S)
    assert wait_until(lambda: len(tries) == 1)
    go.set()

    assert wait_until(lambda: not opening.missing)
    assert 1 == len(tries)


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Unavailable("why"), "why"),
        (PermissionError(13, "Permission denied"), "Permission denied"),
        (ModuleNotFoundError("No module named 'x'", name="x"), "x"),
        (ZeroDivisionError("division by zero"), "ZeroDivisionError: division by zero"),
    ],
    ids=["unavailable", "right", "package", "mistake"],
)
def test_whatever_a_constructor_raises(fault: Exception, words: str) -> None:
    """It is the reason why there is no source, never an end of the agent."""

    def fail() -> Source:
        raise fault

    found = opened(fail)

    assert isinstance(found, str)
    assert words in found
