"""The agent as a whole: sources of our own in its real threads, and its figures of itself."""

import threading
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

from otel_attrib.collector.agent.agent import Agent, Plan, makers, plan_of
from otel_attrib.collector.agent.catalogue import ON_REQUEST, SOURCES, source_class
from otel_attrib.collector.agent.source import Series, Source, Unavailable, series
from otel_attrib.config import Settings, load
from otel_attrib.errors import UsageError
from otel_attrib.testing_agent import FakeSource, KeepingSink, wait_until

CLOCK = series("gpu_clock", "0")
Run = Callable[..., tuple[Agent, KeepingSink]]


@pytest.fixture
def run() -> Iterator[Run]:
    """Start an agent over some sources; it is stopped at the end."""
    running: list[Agent] = []

    def start(*sources: FakeSource, **plan: Any) -> tuple[Agent, KeepingSink]:
        sink = KeepingSink()
        made = {source.name: partial(_same, source) for source in sources}
        agent = Agent(Plan(**plan), [sink], made)
        agent.start()
        running.append(agent)
        return agent, sink

    yield start
    for agent in running:
        agent.stop()


def _same(source: Source) -> Source:
    return source


def values(sink: KeepingSink, key: str, **attributes: str) -> list[float]:
    """All values of one counter with these attributes."""
    wanted = {name.replace("__", ".") for name in attributes}

    def fits(one: Series) -> bool:
        said = dict(one.attributes)
        return one.counter.key == key and {k: said.get(k) for k in wanted} == {
            k.replace("__", "."): v for k, v in attributes.items()
        }

    return [value for one, value in sink.readings if fits(one)]


def test_sources_are_read_at_their_rates(run: Run) -> None:
    """A rate of one's own wins over the source's, and values arrive at every sink."""
    quick, slow = FakeSource(lambda: [(CLOCK, 1.0)], "quick", 5.0), FakeSource(list, "slow", 30.0)
    _, sink = run(quick, slow, every={"quick": 0.02})

    assert wait_until(lambda: quick.reads >= 20)
    assert 1 == slow.reads
    assert len(values(sink, "gpu_clock")) >= 20


def test_it_reads_itself(run: Run) -> None:
    """Its first reading of itself names the CPU that it took; later ones tell of each source."""
    source = FakeSource(lambda: [(CLOCK, 1.0), (CLOCK, -1e300), (series("xid"), -1.0)], "cards", 0.02)
    agent, sink = run(source)
    assert wait_until(lambda: source.reads >= 5)
    own = next(reader for reader in agent.readers if reader.name == "agent")
    own.read()

    assert values(sink, "agent_cpu")[-1] > 0
    assert [1.0] == values(sink, "agent_source_success", slatag__agent__source="cards")[-1:]
    assert [0.02] == values(sink, "agent_source_interval", slatag__agent__source="cards")[-1:]
    assert values(sink, "agent_source_readings", slatag__agent__source="cards")[-1] >= 10
    assert values(sink, "agent_source_refused", slatag__agent__source="cards")[-1] >= 5
    assert [0.0] == values(sink, "agent_source_failures", slatag__agent__source="cards")[-1:]


def test_a_source_that_comes_later_is_read(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """A driver that is loaded while the agent runs is found without a restart."""
    monkeypatch.setattr("otel_attrib.collector.agent.opening.AGAIN_S", 0.05)
    driver = threading.Event()

    def cards() -> Source:
        if not driver.is_set():
            raise Unavailable("no driver")
        return FakeSource(lambda: [(CLOCK, 1.0)], "cards", 0.02)

    sink = KeepingSink()
    agent = Agent(Plan(), [sink], {"cards": cards})
    agent.start()
    assert wait_until(lambda: agent.missing == {"cards": "no driver"})
    driver.set()

    assert wait_until(lambda: bool(values(sink, "gpu_clock")))
    assert {} == agent.missing
    agent.stop()


def test_stopping_closes_what_was_opened(run: Run) -> None:
    """Every source is closed, once it is no longer read."""
    sources = [FakeSource(list, f"s{n}", 0.02) for n in range(5)]
    agent, _ = run(*sources)
    assert wait_until(lambda: all(source.reads for source in sources))
    agent.stop()
    reads = [source.reads for source in sources]

    assert all(source.closed for source in sources)
    assert not wait_until(lambda: reads != [source.reads for source in sources], 0.2)


def test_a_source_that_hangs_does_not_keep_the_others_open(
    run: Run, caplog: pytest.LogCaptureFixture
) -> None:
    """At the end every other source is closed, the hanging one is left and named."""
    go = threading.Event()
    hanging = FakeSource(lambda: [] if go.wait(20) else [], "hanging", 0.02)
    quick = FakeSource(list, "quick", 0.02)
    agent, _ = run(hanging, quick)
    assert wait_until(lambda: hanging.reads == 1 and quick.reads > 3)
    agent.stop(0.2)
    go.set()

    assert (True, False) == (quick.closed, hanging.closed)
    assert "hanging: does not return from its read" in caplog.text


def test_threads_are_few(run: Run) -> None:
    """Thirty quick sources need a thread to read and one to look after them."""
    before = threading.active_count()
    sources = [FakeSource(lambda: [(CLOCK, 1.0)], f"s{n}", 0.05) for n in range(30)]
    run(*sources)
    assert wait_until(lambda: all(source.reads > 3 for source in sources))

    assert threading.active_count() - before <= 2


def test_every_source_of_the_catalogue_imports() -> None:
    """Each name leads to a class with a rate, and a module that says in its first line what it reads."""
    import sys

    for name in SOURCES:
        found = source_class(name)

        assert found.name == name
        assert found.every_s > 0
        assert (sys.modules[found.__module__].__doc__ or "").strip()


def test_a_plan_from_settings() -> None:
    """Names, rates and the budget come from settings; an unknown name is told with those that there are."""
    names = tuple(SOURCES)[:1]
    settings = load({}, agent_sources=",".join(names), agent_budget="0.5%")

    assert Plan(names, {}, 0.005) == plan_of(settings)
    with pytest.raises(UsageError, match="'nvlm' is no source"):
        plan_of(load({}, agent_sources="nvlm"))
    with pytest.raises(UsageError, match="'nvlm' is no source"):
        plan_of(load({}, agent_every="nvlm=1s"))


def test_no_names_mean_all_but_those_on_request() -> None:
    """Without a choice every usual source is opened, those that compile something last."""
    assert sorted(set(SOURCES) - ON_REQUEST) == sorted(makers(()))
    compiles = [SOURCES[name].startswith("ebpf.") for name in makers(())]
    assert sorted(compiles) == compiles
    assert Plan() == plan_of(Settings())


def test_the_page_names_every_source_and_its_rate() -> None:
    """docs/agent.md has a row for each source of the catalogue, with the rate that its class has."""
    from pathlib import Path

    from otel_attrib.commands.agent_table import rate

    page = (Path(__file__).parents[3] / "docs/agent.md").read_text()
    cells = [line.strip("| ").split(" | ") for line in page.splitlines() if line.startswith("| `")]
    rows = {row[0].strip("`"): row[2] for row in cells if len(row) > 2}

    assert {name: rate(source_class(name).every_s) for name in SOURCES} == rows


def test_it_needs_neither_store_nor_server() -> None:
    """Everything that `otel-attrib agent` imports, sources included, comes with the extra of that name."""
    import subprocess
    import sys

    program = """
import sys
from otel_attrib.collector.agent.catalogue import SOURCES, source_class
from otel_attrib.commands import agent_, agent_service, agent_table
for name in SOURCES: source_class(name)
heavy = ("chdb", "clickhouse_connect", "pyarrow", "polars", "numba", "fastapi", "starlette", "uvicorn")
print(sorted(set(heavy) & set(sys.modules)))
"""
    told = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)

    assert "[]" == told.stdout.strip()
