"""Directories of store and spool: rights, room, kind of disk, and what was left over."""

from pathlib import Path

import pytest

from otel_attrib.doctor import paths
from otel_attrib.doctor.check import Finding, Surroundings

GIB = 1 << 30


@pytest.fixture
def around(tmp_path: Path) -> Surroundings:
    """An embedded store and a spool below a directory of this test."""
    return Surroundings(
        dsn=f"chdb://{tmp_path / 'store'}",
        url="http://127.0.0.1:1",
        environ={"OTEL_ATTRIB_SPOOL": str(tmp_path / "spool")},
        proc=tmp_path / "proc",
    )


def levels(found: list[Finding]) -> list[tuple[str, str]]:
    """Level and name of each finding."""
    return [(each.level, each.name) for each in found]


def test_not_there_yet(around: Surroundings) -> None:
    """Directories that can be made are fine, and looking does not make them."""
    assert [("OK", "store path"), ("OK", "spool path")] == levels(list(paths.rights(around)))
    assert not Path(around.environ["OTEL_ATTRIB_SPOOL"]).exists()


def test_no_directory(around: Surroundings, tmp_path: Path) -> None:
    """A file in the place of a directory fails."""
    (tmp_path / "store").write_text("")

    assert ("FAIL", "store path") == levels(list(paths.rights(around)))[0]


def test_not_writable(around: Surroundings, monkeypatch: pytest.MonkeyPatch) -> None:
    """A directory that this user may not write fails, with a fix."""
    monkeypatch.setattr("os.access", lambda place, mode: False)
    first, _ = paths.rights(around)

    assert "FAIL" == first.level
    assert first.fix.startswith("chown")


@pytest.mark.parametrize(
    ("free", "expected"),
    [(GIB // 2, ["FAIL", "FAIL"]), (2 * GIB, ["OK", "WARN"]), (100 * GIB, ["OK", "OK"])],
)
def test_room(around: Surroundings, monkeypatch: pytest.MonkeyPatch, free: int, expected: list[str]) -> None:
    """Less than 1 GiB fails; a spool limit (4 GiB) that does not fit warns."""
    usage = type("Usage", (), {"free": free})
    monkeypatch.setattr("shutil.disk_usage", lambda place: usage)

    assert expected == [found.level for found in paths.room(around)]


def test_kind_of_disk(around: Surroundings, tmp_path: Path) -> None:
    """The longest mount point above a directory decides; network and memory are warned of."""
    (tmp_path / "proc").mkdir()
    (tmp_path / "spool").mkdir()
    table = (
        f"/dev/sda / ext4 rw 0 0\nhost:/x {tmp_path} nfs4 rw 0 0\nnone {tmp_path / 'spool'} tmpfs rw 0 0\n"
    )
    (tmp_path / "proc/mounts").write_text(table)
    store, spool = paths.file_system(around)

    assert "nfs4" in store.text
    assert "in memory" in spool.text


def test_left_over(around: Surroundings, tmp_path: Path) -> None:
    """Segments that wait while no service runs are counted, and refused requests too."""
    spool = tmp_path / "spool"
    (spool / "quarantine").mkdir(parents=True)
    assert [("OK", "spool")] == levels(list(paths.left_over(around)))

    (spool / "traces-1-a.seg").write_bytes(b"x" * 2_000_000)
    (spool / "quarantine/t.pb").write_bytes(b"x")
    waiting, aside = paths.left_over(around)

    assert ("WARN", "1 segments (2.0 MB) wait in") == (waiting.level, waiting.text.split(f" {spool}")[0])
    assert ("WARN", "quarantine") == (aside.level, aside.name)


def test_remote_and_memory() -> None:
    """A remote store has only a spool on this disk, of its own; one in memory has nothing."""
    one, other = (Surroundings(dsn=f"clickhouse://host:8123/{name}", environ={}) for name in ("a", "b"))
    memory = Surroundings(dsn="chdb://memory", environ={})

    assert paths.store_path(one) is None
    assert ["spool path"] == [found.name for found in paths.rights(one)]
    assert paths.spool_path(one) != paths.spool_path(other)
    assert [] == [*paths.rights(memory), *paths.room(memory), *paths.left_over(memory)]
