"""A rival that cannot be installed is left out by name; the run goes on."""

from pathlib import Path

import pytest

from benchmarks.attribution.real import environment


def test_what_cannot_be_installed_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The message names the package, and the next run starts from an empty folder."""
    monkeypatch.setattr(environment, "ENVIRONMENTS", tmp_path)
    monkeypatch.setenv("PIP_NO_INDEX", "1")

    with pytest.raises(environment.NotInstalled, match="otel-attrib-no-such-rival==1.0"):
        environment.rival_programs("none", "otel-attrib-no-such-rival==1.0")

    assert not (tmp_path / "none").exists()
