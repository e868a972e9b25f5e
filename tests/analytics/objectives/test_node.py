"""Files that are no objectives at all: missing, no text, too large, too deep, without an end."""

from pathlib import Path

import pytest

from otel_attrib.analytics.objectives import load_objectives
from otel_attrib.errors import DataError


def test_a_path_that_leads_nowhere_is_told(tmp_path: Path) -> None:
    """A missing file, an empty folder, bytes that are no text and a file of megabytes are each named."""
    (tmp_path / "empty").mkdir()
    (tmp_path / "bytes.yaml").write_bytes(b"\xff\xfe")
    (tmp_path / "large.yaml").write_text("#" * (4 << 20) + "\n")
    expected = {
        "none.yaml": "cannot be read: No such file or directory",
        "empty": "no .yaml or .yml file in this folder",
        "bytes.yaml": "is not text in UTF-8",
        "large.yaml": "has 4,194,305 bytes; a file of objectives has at most 4,194,304",
    }
    for name, message in expected.items():
        with pytest.raises(DataError) as fault:
            load_objectives(tmp_path / name)
        assert f"{tmp_path / name}: {message}" == str(fault.value)


def test_aliases_that_grow_are_no_bomb(tmp_path: Path) -> None:
    """Nine levels of nine aliases, a thousand million values when built, are refused by their form."""
    levels = ["a0: &a0 [x]"] + [f"a{i}: &a{i} [{', '.join([f'*a{i - 1}'] * 9)}]" for i in range(1, 10)]
    file = tmp_path / "slo.yaml"
    file.write_text("\n".join(levels) + "\n")

    with pytest.raises(DataError, match="no field 'a0' here"):
        load_objectives(file)


def test_a_merge_with_itself_ends(tmp_path: Path) -> None:
    """A mapping merged into itself is refused, not followed for ever."""
    file = tmp_path / "slo.yaml"
    file.write_text("a: &a\n  <<: *a\n<<: *a\n")

    with pytest.raises(DataError, match="leads on more than 32 times"):
        load_objectives(file)


def test_depth_is_refused(tmp_path: Path) -> None:
    """Ten thousand brackets are told as what they are."""
    file = tmp_path / "slo.yaml"
    file.write_text("[" * 10_000)

    with pytest.raises(DataError, match="is nested too deeply"):
        load_objectives(file)
