"""The committed page is what its sources build, small, with the licences of what it bundles."""

import gzip
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from otel_attrib.dashboards.palette import LAYER_COLORS, STAGE_COLORS

WEB = Path(__file__).parents[3] / "dashboards" / "web"
PAGE = WEB.parent / "page"
FILES = ("index.html", "app.js", "app.css", "LICENSES.txt")


@pytest.fixture(scope="module")
def web(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The sources with their locked packages, in a folder of their own."""
    if not shutil.which("npm"):
        pytest.skip("needs node and npm")
    folder = tmp_path_factory.mktemp("web") / "web"
    shutil.copytree(WEB, folder, ignore=shutil.ignore_patterns("node_modules"))
    words = ["npm", "ci", "--no-audit", "--no-fund", "--prefer-offline"]
    done = subprocess.run(words, cwd=folder, capture_output=True, text=True, timeout=120)
    if done.returncode:
        pytest.skip(f"needs the npm registry: {done.stderr.strip().splitlines()[-1]}")
    return folder


def test_a_fresh_build_gives_the_committed_bytes(web: Path) -> None:
    """Same sources and lock, same page."""
    subprocess.run(["npm", "run", "--silent", "build"], cwd=web, check=True, capture_output=True, timeout=60)

    for name in FILES:
        assert (PAGE / name).read_bytes() == (web.parent / "page" / name).read_bytes(), name


def test_types_hold(web: Path) -> None:
    """The sources pass the strict compiler."""
    done = subprocess.run(
        ["npm", "run", "--silent", "check"], cwd=web, capture_output=True, text=True, timeout=90
    )

    assert (0, "") == (done.returncode, done.stdout)


def test_the_page_is_small_and_asks_nobody() -> None:
    """At most 220 KB packed; no address of another host but in names of XML and of the library's home."""
    script = (PAGE / "app.js").read_bytes()
    hosts = set(re.findall(rb"https?://([\w.-]+)", script + (PAGE / "app.css").read_bytes()))

    assert len(gzip.compress(script)) <= 220 * 1024
    assert hosts <= {b"www.w3.org", b"echarts.apache.org"}


@pytest.mark.parametrize("name", ["echarts", "zrender", "tslib"])
def test_licences_come_along(name: str) -> None:
    """The text of each bundled library's licence is in the package."""
    assert f"\n{name} " in (PAGE / "LICENSES.txt").read_text()


def test_one_palette() -> None:
    """The page paints layers and stages as the dashboards do."""
    source = (WEB / "src" / "palette.ts").read_text()
    found = {
        title: dict(re.findall(r'(\w+): "(#\w{6})"', source.split(f"{title}: ")[1].split("};")[0]))
        for title in ("LAYER_COLORS", "STAGE_COLORS")
    }

    assert {"LAYER_COLORS": dict(LAYER_COLORS), "STAGE_COLORS": dict(STAGE_COLORS)} == found
