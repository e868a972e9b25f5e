"""docs/objectives.md holds: its files are read, its sessions print what they show."""

import re
import shlex
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from otel_attrib.analytics.metric import METRICS
from otel_attrib.analytics.objectives import load_objectives
from otel_attrib.analytics.objectives.attained import requests_needed
from otel_attrib.schema.store import Store

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs/objectives.md"
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)
SESSIONS = re.findall(r"```console\n\$ otel-attrib ([^\n]*)\n(.*?)```", PAGE.read_text(), re.DOTALL)
FILES = re.findall(r"```yaml\n(.*?)```", PAGE.read_text(), re.DOTALL)


@pytest.fixture
def filled(store: Store) -> Store:
    """An hour of the page's fleet: one in forty of gold's requests is slow, at last one in four."""
    n = 10_800
    seconds = np.arange(n) / 3
    names = np.array(["gold", "silver", "bronze"])[np.arange(n) % 3]
    rng = np.random.default_rng(1)
    ttft = rng.lognormal(11.3, 0.1, n) * np.array([1.0, 2.4, 6.0])[np.arange(n) % 3]
    slow = (names == "gold") & (rng.random(n) < np.where(seconds >= 3000, 0.25, 0.025))
    rows = {
        "time": pa.array([NOON + timedelta(seconds=float(s)) for s in seconds], pa.timestamp("us", "UTC")),
        "service": ["chat"] * n,
        "model": np.where(names == "bronze", "llama-8b", "llama-70b").tolist(),
        "operation": ["chat"] * n,
        "sla_class": names.tolist(),
        "status": ["ok"] * n,
        "output_tokens": np.full(n, 9, dtype=np.uint32),
        "ttft_us": np.where(slow, 400_000.0, ttft),
    }
    store.insert_arrow("requests", pa.table(rows))
    return store


@pytest.mark.usefixtures("filled")
@pytest.mark.parametrize(("words", "shown"), SESSIONS, ids=[words for words, _ in SESSIONS])
def test_sessions_print_what_they_show(
    words: str, shown: str, run: Callable[..., str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Each command of the page prints, to the letter, what stands under it, in 80 columns."""
    monkeypatch.chdir(ROOT)

    printed = run(*shlex.split(words))

    assert [line.rstrip() for line in shown.splitlines()] == [line.rstrip() for line in printed.splitlines()]
    assert max(map(len, printed.splitlines())) <= 80


@pytest.mark.parametrize("text", FILES, ids=range(len(FILES)))
def test_files_are_read(text: str, tmp_path: Path) -> None:
    """Each file of the page is an objective."""
    (tmp_path / "slo.yaml").write_text(text)

    assert 1 == len(load_objectives(tmp_path / "slo.yaml"))


def test_numbers_of_the_page_are_those_of_the_code() -> None:
    """How many requests a share needs, and the names of latencies, as the page says them."""
    text = PAGE.read_text()

    for target in (0.99, 0.999):
        assert f"{requests_needed(target, (1 - target) / 2):,}" in text
    assert f"{requests_needed(0.99, 0.0005, 2.5758293035489004):,}" in text
    assert all(f"`{metric}`" in text for metric in METRICS)
