"""The five top-level folders are the five subpackages, and nothing else is installed."""

from importlib import import_module, metadata
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
AREAS = ("analytics", "collector", "dashboards", "instrumentation", "schema")


@pytest.mark.parametrize("area", AREAS)
def test_area(area: str) -> None:
    """Each area imports, and its link is a link: a checkout without symbolic links ships empty wheels."""
    assert import_module(f"otel_attrib.{area}").__doc__
    assert (ROOT / "src/otel_attrib" / area).is_symlink()


def test_one_name_installed() -> None:
    """Site-packages gains `otel_attrib` alone."""
    assert {n for n, d in metadata.packages_distributions().items() if "otel-attrib" in d} == {"otel_attrib"}


def test_version_is_the_changelogs() -> None:
    """The version in code, in the metadata and at the top of the changelog is one."""
    from otel_attrib import __version__

    newest = next(
        line.split("[")[1].split("]")[0]
        for line in (ROOT / "CHANGELOG.md").read_text().splitlines()
        if line.startswith("## [") and "Unreleased" not in line
    )

    assert __version__ == metadata.version("otel-attrib") == newest
