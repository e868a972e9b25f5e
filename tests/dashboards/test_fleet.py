"""Every panel's statement runs against the store, macros expanded as the data source does."""

import json
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.cli import main
from otel_attrib.dashboards.config import VARIABLES
from otel_attrib.dashboards.fleet import fleet, to_json
from otel_attrib.schema.ingest import insert_traces
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.store import Store, open_store

sys.path.insert(0, str(Path(__file__).parents[2]))

from benchmarks.spans import REQUESTS_EACH, START_NS, exports

EXPORTS = 20
FIRST_S = START_NS // 10**9
BOARD: dict[str, Any] = json.loads(to_json(fleet()))
PANELS = {panel["title"]: panel for panel in BOARD["panels"]}


@pytest.fixture(scope="module")
def store() -> Iterator[Store]:
    """A store of `EXPORTS` export requests."""
    with open_store("chdb://memory/dashboards") as opened:
        migrate(opened)
        insert_traces(opened, list(exports(EXPORTS, "shim")), "once")
        yield opened


def expanded(sql: str, store: Store) -> str:
    """The statement as the plugin sends it: macros and multi-value variables filled in."""
    begin, end = FIRST_S - 60, FIRST_S + 3600
    sql = re.sub(
        r"\$__timeFilter\(([\w.]+)\)", rf"(\1 >= toDateTime({begin}) AND \1 <= toDateTime({end}))", sql
    )
    sql = re.sub(
        r"\$__timeInterval\(([\w.]+)\)", r"toStartOfInterval(toDateTime(\1), INTERVAL 10 second)", sql
    )
    sql = sql.replace("$__interval_s", "10")
    for column in VARIABLES:
        values = store.rows(f"SELECT groupUniqArray({column}) AS found FROM requests")[0]["found"]
        sql = sql.replace(f"${{{column}:singlequote}}", ",".join(f"'{value}'" for value in values))
    assert "$" not in sql
    return sql


@pytest.mark.parametrize("title", [title for title in PANELS if "steps" not in title])
def test_every_panel_shows_the_requests(title: str, store: Store) -> None:
    """The statement runs, and a time series has a point for each 10 s of traffic."""
    (target,) = PANELS[title]["targets"]
    rows = store.rows(expanded(target["rawSql"], store))

    assert rows
    if PANELS[title]["type"] == "timeseries":
        assert len({row["time"] for row in rows}) == len(rows)


def test_steps_panel_runs_without_steps(store: Store) -> None:
    """A site whose engine sends no step telemetry sees an empty panel, not an error."""
    (target,) = PANELS["Engine steps, batch, KV cache"]["targets"]

    assert [] == store.rows(expanded(target["rawSql"], store))


def test_rate_counts_every_request(store: Store) -> None:
    """Requests a second times the interval is the number of requests sent."""
    (target,) = PANELS["Requests and failures"]["targets"]
    rows = store.rows(expanded(target["rawSql"], store))

    assert EXPORTS * REQUESTS_EACH == round(sum(row["requests_per_s"] for row in rows) * 10)


def test_variables_are_columns(store: Store) -> None:
    """Each variable asks for a column of `requests` and offers several values."""
    queries = {v["name"]: v["query"] for v in BOARD["templating"]["list"] if v["type"] == "query"}

    assert set(VARIABLES) == set(queries)
    for query in queries.values():
        assert store.rows(expanded(query, store))


def test_export_writes_what_it_prints(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """`dashboards export` prints the dashboard, and `--out` writes the same text."""
    assert main(["dashboards", "export"]) == 0
    assert main(["dashboards", "export", "--out", str(tmp_path / "fleet.json")]) == 0

    assert capsys.readouterr().out == (tmp_path / "fleet.json").read_text() == to_json(fleet())


def test_export_says_where_it_cannot_write(capsys: pytest.CaptureFixture[str]) -> None:
    """A folder that is not there is the user's mistake: exit 2 and one line."""
    assert main(["dashboards", "export", "--out", "/nowhere/fleet.json"]) == 2

    assert "/nowhere/fleet.json cannot be written: No such file or directory" in capsys.readouterr().err
