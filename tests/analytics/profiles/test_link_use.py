"""Copies against what carries them: rates of a recorded profile by SQL, and shares by hand."""

import gzip
import json
import sqlite3
from pathlib import Path

import pytest

from otel_attrib.analytics.profiles.cards import card_named
from otel_attrib.analytics.profiles.link_use import LinkUse, link_uses
from otel_attrib.analytics.profiles.links import Link
from otel_attrib.analytics.profiles.read import read_profile

NSYS = Path(__file__).parents[2] / "fixtures/nsys/mfu_2gpu_before.sqlite.gz"
H100 = card_named("h100_sxm")
PAGEABLE = "host memory that is not pinned: the driver copies it twice"


def test_recorded_copies(tmp_path: Path) -> None:
    """Bytes and rates are SQL's, as these copies do not overlap; half the memory carries a copy within."""
    (tmp_path / "n.sqlite").write_bytes(gzip.decompress(NSYS.read_bytes()))
    table = sqlite3.connect(tmp_path / "n.sqlite")
    query = """
        SELECT sum(bytes), sum("end" - start) FROM CUPTI_ACTIVITY_KIND_MEMCPY
        WHERE deviceId = 0 AND copyKind = ?
    """
    uses = {use.copies.direction: use for use in link_uses(read_profile(NSYS), 0, H100)}
    for kind, direction, capacity in ((8, "d2d", 3350e9 / 2), (1, "h2d", 63.0e9)):
        size, ns = table.execute(query, (kind,)).fetchone()
        assert size == uses[direction].copies.bytes
        assert size / ns * 1e9 / capacity == pytest.approx(uses[direction].share, rel=1e-3)
    table.close()
    assert ("memory", "pcie5x16") == (uses["d2d"].over, uses["h2d"].over)
    assert "small copies, half of them of 8 B or less" == uses["h2d"].reason


def copied(tmp_path: Path, name: str, size: int, us: float, link: Link | None) -> LinkUse:
    """One copy of a trace of an H100."""
    args = {"device": 0, "stream": 7, "bytes": size}
    event = {
        "ph": "X",
        "cat": "gpu_memcpy",
        "name": name,
        "pid": 0,
        "tid": 7,
        "ts": 1,
        "dur": us,
        "args": args,
    }
    path = tmp_path / "trace.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [event]}))
    (use,) = link_uses(read_profile(path), 0, H100, link)
    return use


@pytest.mark.parametrize(
    ("name", "link", "share", "reason"),
    [
        ("Memcpy HtoD (Pinned -> Device)", None, 25 / 63.015, ""),
        ("Memcpy HtoD (Pageable -> Device)", None, 25 / 63.015, PAGEABLE),
        ("Memcpy DtoH (Device -> Pinned)", Link("pcie", 4, 16), 25 / 31.508, ""),
        ("Memcpy PtoP (Device -> Device)", None, 25 / 450, ""),
    ],
    ids=["pinned", "pageable", "another link", "to a peer"],
)  # fmt: skip
def test_shares_by_hand(tmp_path: Path, name: str, link: Link | None, share: float, reason: str) -> None:
    """25 MB in 1 ms are 25 GB/s of what the link carries; why it is little is said where the file tells."""
    use = copied(tmp_path, name, 25_000_000, 1000.0, link)

    assert share == pytest.approx(use.share, rel=1e-4)
    assert reason == use.reason


def test_unknown_card_has_no_link() -> None:
    """Without a card nothing is assumed of the links."""
    assert {("", None, None)} == {
        (use.over, use.capacity, use.share) for use in link_uses(read_profile(NSYS), 0)
    }
