"""The budget: the costliest is slowed until all fits, said once, and comes back when it is cheap again."""

import pytest

from otel_attrib.collector.agent.budget import Budget
from otel_attrib.collector.agent.reader import Reader
from otel_attrib.collector.agent.source import Reading, series
from otel_attrib.testing_agent import FakeSource, StillClock

CLOCK = series("gpu_clock", "0")


class World:
    """Sources of a known cost a read, read as often as the budget lets them."""

    def __init__(self, budget: float, **costs: float) -> None:
        """CPU seconds a read, by name."""
        self.still = StillClock()
        self.costs = dict(costs)
        self.beside = 0.0
        self.owed = dict.fromkeys(costs, 0.0)
        self.readers = [self.reader(name) for name in costs]
        self.budget = Budget(budget)

    def reader(self, name: str) -> Reader:
        """One that burns what it costs."""

        def say() -> list[Reading]:
            self.still.cpu += self.costs[name]
            return [(CLOCK, 1.0)]

        return Reader(FakeSource(say, name, 0.1), [], clock=self.still.clock)

    def run(self, seconds: float) -> None:
        """Read everything as often as it is due; look at the budget every five seconds."""
        for _ in range(round(seconds / 5)):
            for reader in self.readers:
                self.owed[reader.name] += 5 / reader.interval_s
                while self.owed[reader.name] > 0.5:
                    self.owed[reader.name] -= 1
                    reader.read()
            self.still.cpu += self.beside * 5
            self.still.pass_s(5)
            self.budget.look(self.still.steady, self.still.cpu, self.readers)

    @property
    def slowed(self) -> dict[str, int]:
        """How many times less often each is read."""
        return {reader.name: reader.slowed for reader in self.readers}


def test_within_the_budget_nothing_changes() -> None:
    """Half the budget is nobody's concern."""
    world = World(0.01, a=0.0002, b=0.0003)
    world.run(120)

    assert {"a": 1, "b": 1} == world.slowed
    assert 0.005 == pytest.approx(world.budget.spent)


def test_the_costliest_is_slowed_until_it_fits(caplog: pytest.LogCaptureFixture) -> None:
    """Of 5 % and 0.2 % of a core the first is read an eighth as often, within 1 %; said once."""
    world = World(0.01, heavy=0.005, light=0.0002)
    world.run(300)

    assert {"heavy": 8, "light": 1} == world.slowed
    assert world.budget.spent <= 0.01
    assert 1 == len(caplog.records)
    assert caplog.records[0].getMessage().startswith("heavy: takes 5.00 % of a core, and all together 5.20 %")


@pytest.mark.parametrize("cost", [0.01, 0.05, 0.2])
def test_far_beyond_it_is_slowed_at_once(cost: float) -> None:
    """At 10, 50 or 200 % of a core one look brings it to twice the budget, or to once a minute."""
    world = World(0.01, heavy=cost, light=0.0001)
    world.run(15)

    (interval,) = [reader.interval_s for reader in world.readers if reader.name == "heavy"]
    assert cost / interval <= 0.02
    assert interval <= 60
    assert 1 == world.slowed["light"]


def test_what_opening_took_is_nobodys_cost() -> None:
    """Seconds of CPU while sources are opened slow none of them."""
    world = World(0.01, a=0.0002)
    world.run(5)
    world.still.cpu += 7.0
    world.budget.begin_anew()
    world.run(120)

    assert {"a": 1} == world.slowed
    assert world.budget.spent < 0.01


def test_it_comes_back_when_it_is_cheap() -> None:
    """A source whose reads become cheap is read at its own rate again."""
    world = World(0.01, heavy=0.005, light=0.0002)
    world.run(300)
    world.costs["heavy"] = 0.0003
    world.run(300)

    assert {"heavy": 1, "light": 1} == world.slowed


def test_it_does_not_swing() -> None:
    """At a steady cost the rate that was found stays."""
    world = World(0.01, heavy=0.0015)
    world.run(120)
    found = []
    for _ in range(40):
        world.run(15)
        found.append(world.slowed["heavy"])

    assert {2} == set(found)


def test_no_source_is_slowed_beyond_a_minute() -> None:
    """What nothing can make fit is read at least once a minute."""
    world = World(0.0001, heavy=0.5)
    world.run(1200)

    found = []
    for _ in range(60):
        world.run(20)
        found.append(world.readers[0].interval_s)

    assert {51.2} == set(found)


def test_what_is_beside_the_reads_counts_by_readings() -> None:
    """The encoding of many values makes their source the costliest, though another's reads cost more."""
    world = World(0.01, many=0.0001, few=0.0002)
    world.beside = 0.02
    world.readers[1].every_s = 5.0
    world.run(60)

    assert world.slowed["many"] > 1
    assert 1 == world.slowed["few"]
