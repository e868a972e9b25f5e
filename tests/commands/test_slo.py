"""`otel-attrib slo` as typed: the answer first, JSON, each part, one line for each mistake."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.objectives import load_objectives
from otel_attrib.analytics.objectives.presets import PRESETS
from otel_attrib.schema.store import Store

ROOT = Path(__file__).parents[2]
CLASSES = str(ROOT / "examples/slo/classes.yaml")
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
AT = "2026-05-01T13:00:00Z"
Run = Callable[..., str]


@pytest.fixture
def filled(store: Store) -> Store:
    """An hour before 13:00: gold's last ten minutes are slow, silver is fine, bronze has no request."""
    n = 3600
    seconds = np.arange(n)
    gold = seconds % 2 == 0
    slow = gold & (seconds >= 3000)
    rows = {
        "time": pa.array([NOON + timedelta(seconds=int(s)) for s in seconds], pa.timestamp("us", "UTC")),
        "service": ["chat"] * n,
        "model": ["m"] * n,
        "sla_class": np.where(gold, "gold", "silver").tolist(),
        "status": ["ok"] * n,
        "output_tokens": np.full(n, 9, dtype=np.uint32),
        "ttft_us": np.where(slow, 200_000.0, 100_000.0),
    }
    store.insert_arrow("requests", pa.table(rows))
    return store


@pytest.mark.usefixtures("filled")
def test_the_first_line_says_which_objective_is_in_trouble(run: Run) -> None:
    """Gold burns in both windows, silver is met, bronze has no request; the worst row is first."""
    printed = run("slo", "--file", CLASSES, "--at", AT).splitlines()

    # 300 of gold's 1,800 requests are slow: 16.7 % bad, with 1 % allowed.
    expected = "1 of 3 objectives is in trouble: gold-ttft burns its budget 16.7 times too fast over 1h"
    assert expected == " ".join(printed[:2]).strip()
    rows = [line.split() for line in printed if line[:4] in ("gold", "silv", "bron")]
    assert [["gold-ttft", "page"], ["bronze-ttft", "no"], ["silver-ttft", "ok"]] == [row[:2] for row in rows]
    assert max(map(len, printed)) <= 80


@pytest.mark.usefixtures("filled")
def test_json_is_one_object(run: Run) -> None:
    """`--json` prints the body of /api/v1/slo; counts are those of the requests that were made."""
    body = json.loads(run("slo", "--file", CLASSES, "--at", AT, "--json"))

    assert "otel-attrib/slo/1" == body["schema"]
    gold, silver, bronze = body["items"]
    assert (1500, 1800, "page") == (gold["good"], gold["total"], gold["state"])
    assert (1800, 1800, "ok", 1.0) == (silver["good"], silver["total"], silver["state"], silver["attained"])
    assert (None, None, "no data") == (bronze["attained"], bronze["budget_left"], bronze["state"])
    assert gold["budget_left"] == pytest.approx(1 - (300 / 1800) / 0.01)


@pytest.mark.usefixtures("filled")
def test_one_objective_is_told_in_full(run: Run) -> None:
    """Interval, budget, marginal attainment and every pair of burn windows."""
    printed = run("slo", "gold-ttft", "--file", CLASSES, "--at", AT)

    assert printed.startswith("gold-ttft burns its budget 16.7 times too fast over 1h\n")
    assert "good          83.3 % (1,500 of 1,800 requests)" in printed
    assert 4 == sum(line.startswith(("page", "ticket")) for line in printed.splitlines())
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.usefixtures("filled")
def test_where_narrows_every_objective(run: Run) -> None:
    """Only requests that fit are counted; a dimension that an objective names cannot be chosen again."""
    body = json.loads(run("slo", "--file", CLASSES, "--at", AT, "--where", "model=other", "--json"))

    assert {0} == {item["total"] for item in body["items"]}
    told = run("slo", "--file", CLASSES, "--where", "sla_class=gold", code=2)
    assert "sla_class is chosen twice" in told


@pytest.mark.usefixtures("filled")
def test_the_setting_names_the_file(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    """OTEL_ATTRIB_SLO stands in for --file; without either the message says what to do."""
    assert "no objectives: name a file with --file or OTEL_ATTRIB_SLO" in run("slo", code=2)
    monkeypatch.setenv("OTEL_ATTRIB_SLO", str(Path(CLASSES).parent))

    assert 3 == len(json.loads(run("slo", "--at", AT, "--json"))["items"])


def test_an_unknown_name_is_told(run: Run) -> None:
    """With the names that there are."""
    told = run("slo", "golden", "--file", CLASSES, code=1)

    assert "no objective 'golden'; there are gold-ttft, silver-ttft, bronze-ttft" in told


def test_check_says_what_a_file_asks_for(run: Run, tmp_path: Path) -> None:
    """A good file is summed up, a bad one told with its line and exit code 1."""
    printed = run("slo", "check", CLASSES)
    assert printed.startswith("3 objectives, nothing wrong\n")
    assert "gold-ttft: TTFT ≤ 135 ms, 99 % of requests over 30d where sla_class=gold" in printed
    assert "gold" == json.loads(run("slo", "check", CLASSES, "--json"))["items"][0]["class"]

    bad = tmp_path / "bad.yaml"
    bad.write_text(Path(CLASSES).read_text().replace("135ms", "soon"))
    assert "is no latency; write 450ms or 1.2s" in run("slo", "check", str(bad), code=1)
    assert "name a file or folder" in run("slo", "check", code=2)


def test_presets_are_listed_and_printed(run: Run, tmp_path: Path) -> None:
    """Each preset stands in the table; a file of several is read back, on the requests of --where."""
    table = run("slo", "preset")
    assert all(name in table for name in PRESETS)
    assert len(PRESETS) == len(json.loads(run("slo", "preset", "--json"))["items"])

    file = tmp_path / "slo.yaml"
    file.write_text(run("slo", "preset", "llama2-70b-interactive", "chat", "--where", "model=llama"))
    found = load_objectives(file)
    assert ["llama2-70b-interactive", "chat"] == [objective.name for objective in found]
    assert {"model=llama"} == {str(objective.where) for objective in found}
    assert "no preset 'llama'" in run("slo", "preset", "llama", code=2)


@pytest.mark.usefixtures("filled")
def test_derive_proposes_and_writes_a_file(run: Run, tmp_path: Path) -> None:
    """Table, JSON and file name the same limit: P95 of the noon hour, 200 ms, × 1.2."""
    printed = run("slo", "derive", "--last", "1d", "--at", AT, "--file", CLASSES)
    assert printed.startswith("1 of 1 endpoints have a TTFT to promise\n")
    (row,) = [line.split() for line in printed.splitlines() if line.startswith("chat/m  ") and "12h" in line]
    assert ["chat/m", "3,600", "200", "12h", "240", "-"] == row

    body = json.loads(run("slo", "derive", "--last", "1d", "--at", AT, "--json"))
    assert [240.0] == [endpoint["proposal_ms"] for endpoint in body["endpoints"]]
    file = tmp_path / "slo.yaml"
    file.write_text(run("slo", "derive", "--last", "1d", "--at", AT, "--yaml"))
    assert [240.0] == [objective.limits[0].ms for objective in load_objectives(file)]
    nothing = run("slo", "derive", "--last", "1d", "--at", AT, "--yaml", "--metric", "tpot", code=1)
    assert "no hour holds the 100 requests" in nothing
