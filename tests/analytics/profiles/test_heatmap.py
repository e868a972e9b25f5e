"""The heatmap's shares against sums made one interval at a time, its pictures read back by other programs."""

import json
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from otel_attrib.analytics.profiles.heatmap import Heatmap, answer, heatmap
from otel_attrib.analytics.profiles.heatmap_colours import rgb
from otel_attrib.analytics.profiles.heatmap_html import CELLS, heatmap_html
from otel_attrib.analytics.profiles.heatmap_object import heatmap_object
from otel_attrib.analytics.profiles.heatmap_png import heatmap_png
from otel_attrib.analytics.profiles.heatmap_text import heatmap_lines
from otel_attrib.analytics.profiles.read import read_profile
from otel_attrib.analytics.profiles.timeline import Profile

FIXTURES = Path(__file__).parents[2] / "fixtures"


@pytest.fixture(scope="module")
def profile() -> Profile:
    """A recorded profile of two devices."""
    return read_profile(FIXTURES / "nsys/mfu_2gpu_before.sqlite.gz")


def busy_by_walking(profile: Profile, device: int, low: float, high: float) -> float:
    """The share of a cell in which anything ran, one activity after the other."""
    rows = profile.on(device)
    covered, end = 0.0, low
    for start, stop in sorted(zip(rows.start_ns.tolist(), rows.end_ns.tolist(), strict=True)):
        start, stop = max(start, end), min(stop, high)
        if stop > start:
            covered, end = covered + stop - start, stop
    return covered / (high - low)


def test_shares_are_those_of_a_walk(profile: Profile) -> None:
    """Each cell of a device's lane is the union of what ran, found by walking over every activity."""
    found = heatmap(profile, 30)
    begin = int(profile.activities.start_ns.min())
    for lane in (lane for lane in found.lanes if lane.kind == "device"):
        edges = found.edges_ns + begin
        walked = [busy_by_walking(profile, lane.device, edges[i], edges[i + 1]) for i in range(30)]

        assert walked == pytest.approx(lane.share.tolist(), abs=1e-9)
        assert lane.busy == pytest.approx(float(lane.share.mean()))


def test_lanes_follow_the_choice(profile: Profile) -> None:
    """Classes and streams stand below each device, as asked for; no lane is busier than its device."""
    kinds = {by: {lane.kind for lane in heatmap(profile, 8, by).lanes} for by in ("class", "stream", "both")}
    found = heatmap(profile, 8)
    whole = {lane.device: lane.share for lane in found.lanes if lane.kind == "device"}

    assert {"class": {"device", "class"}, "stream": {"device", "stream"}} == {
        k: kinds[k] for k in ("class", "stream")
    }
    assert {"device", "class", "stream"} == kinds["both"]
    assert all((lane.share <= whole[lane.device] + 1e-9).all() for lane in found.lanes)


def test_terminal(profile: Profile) -> None:
    """Lines are at most 80 columns; a cell's block grows with its share; ASCII is possible."""
    found = heatmap(profile, 54)
    lines = list(heatmap_lines(found))
    first = next(line for line in lines if line.startswith("  all"))
    cells = first[21:75]

    assert all(len(line) <= 80 for line in lines)
    assert answer(found).split(";")[0] in " ".join(lines[:2])
    order = " ▁▂▃▄▅▆▇█"
    expected = [order[int(np.ceil(share * 8 - 1e-9))] for share in found.lanes[0].share]
    assert expected == list(cells)
    assert "\n".join(heatmap_lines(found, blocks=False)).replace("µ", "u").isascii()


class Page(HTMLParser):
    """Collects tags, and the rectangles with their title."""

    def __init__(self) -> None:
        """Nothing seen yet."""
        super().__init__()
        self.open: list[str] = []
        self.rectangles: list[dict[str, str]] = []
        self.links: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Remember what is open."""
        said = {key: value or "" for key, value in attrs}
        if tag != "meta":
            self.open.append(tag)
        if tag == "rect":
            self.rectangles.append(said)
        self.links += [said[key] for key in ("src", "href") if key in said]

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Only a lane's ground has nothing inside."""
        assert ("rect", "track") == (tag, dict(attrs)["class"])

    def handle_endtag(self, tag: str) -> None:
        """What is closed is what was opened last."""
        assert tag == self.open.pop()

    def handle_data(self, data: str) -> None:
        """Keep the text."""
        self.text.append(data)


def test_html_is_whole_and_alone(profile: Profile) -> None:
    """Every tag is closed, nothing is fetched, and the rectangles cover what the lanes have above zero."""
    found = heatmap(profile, CELLS)
    text = heatmap_html(found)
    page = Page()
    page.feed(text)
    width = sum(float(rectangle["width"]) for rectangle in page.rectangles)

    assert [] == page.open
    assert [] == page.links
    assert "<script" not in text and "url(" not in text and "http" not in text
    assert 4 * sum(int((lane.share > 1e-9).sum()) for lane in found.lanes) == pytest.approx(width, rel=1e-3)
    assert answer(found) in "".join(page.text)


def test_html_escapes_names(profile: Profile) -> None:
    """What a file is called cannot become markup."""
    found = heatmap(profile, 4)
    text = heatmap_html(Heatmap("<b>&.json", {0: "<i>", 1: ""}, found.edges_ns, found.lanes, found.gap_ns))

    assert "<b>" not in text and "&lt;b&gt;&amp;.json" in text and "&lt;i&gt;" in text


def test_png_holds_the_shares(tmp_path: Path) -> None:
    """A lane that is busy in its first half and idle in its second is its colour, then nearly white."""
    kernel = {
        "ph": "X",
        "cat": "kernel",
        "name": "gemm",
        "pid": 0,
        "tid": 7,
        "args": {"device": 0, "stream": 7},
    }
    events = [{**kernel, "ts": 0, "dur": 50}, {**kernel, "ts": 99.9, "dur": 0.1}]
    path = tmp_path / "half.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": events}))
    found = heatmap(read_profile(path), 600, "class")
    content = heatmap_png(found)
    image = np.asarray(Image.open(BytesIO(content)).convert("RGB")).astype(int)
    full = np.round(255 * np.array(rgb(found.lanes[1]))).astype(int)
    inside = np.abs(image - full).sum(axis=2) <= 3
    line = int(np.median(np.flatnonzero(inside.any(axis=1))))
    blue, pale = inside[line].sum(), (np.abs(image[line] - 245).sum(axis=1) <= 3).sum()

    assert content == heatmap_png(found)
    assert blue > 400
    assert 1 == pytest.approx(pale / blue, abs=0.02)


@pytest.mark.parametrize("category", ["cpu_op", "kernel"], ids=["no device", "no time"])
def test_nothing_to_draw(tmp_path: Path, category: str) -> None:
    """Profiles without activity, or of no length, are drawn as what they are."""
    args = {"device": 0, "stream": 7}
    event = {"ph": "X", "cat": category, "name": "k", "pid": 0, "tid": 7, "ts": 1, "dur": 0, "args": args}
    path = tmp_path / "none.json"
    path.write_text(json.dumps({"schemaVersion": 1, "traceEvents": [event]}))
    found = heatmap(read_profile(path), 20)

    assert b"\x89PNG" == heatmap_png(found)[:4]
    assert "</html>" in heatmap_html(found)
    assert ["0 %" in answer(found)] == ["device" in {lane.kind for lane in found.lanes}]
    assert list(heatmap_lines(found))


def test_object(profile: Profile) -> None:
    """The object has as many shares as cells, each between 0 and 1."""
    told = json.loads(json.dumps(heatmap_object(heatmap(profile, 12))))

    assert 13 == len(told["edges_us"])
    assert all(12 == len(lane["share"]) and max(lane["share"]) <= 1 for lane in told["lanes"])
