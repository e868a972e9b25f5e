"""`profile diff`, `roofline` and `heatmap` as a user calls them, on recorded profiles."""

import gzip
import io
import json
import sys
from pathlib import Path

import pytest

from otel_attrib.cli import main

FIXTURES = Path(__file__).parents[1] / "fixtures"
BEFORE, AFTER = (str(FIXTURES / f"nsys/mfu_2gpu_{side}.sqlite.gz") for side in ("before", "after"))
NCCL = str(FIXTURES / "kineto/hta_nccl_data.json.gz")
QWEN = str(FIXTURES / "kineto/h100_qwen.json.gz")


@pytest.mark.parametrize(
    ("words", "first", "schema"),
    [
        (("diff", BEFORE, AFTER), "GPU time −46.4 ms, step unchanged (−0.01 %): ", "profile-diff/1"),
        (
            ("roofline", QWEN),
            "GPU 0: what bounds elementwise, 36 % of the compute time, is undecided",
            "profile-roofline/1",
        ),
        (
            ("roofline", BEFORE, "--card", "h100_sxm"),
            "GPU 0: what bounds flash attention",
            "profile-roofline/1",
        ),
        (("heatmap", BEFORE), "GPU 0 busy 91 %, GPU 1 busy 89 % of 300 ms", "profile-heatmap/1"),
    ],
    ids=["diff", "roofline", "roofline of a named card", "heatmap"],
)
def test_answer_first_and_json(
    capsys: pytest.CaptureFixture[str], words: tuple[str, ...], first: str, schema: str
) -> None:
    """The first line is the answer, no line is wider than 80 columns, and --json is one object."""
    assert 0 == main(["profile", *words])
    lines = capsys.readouterr().out.splitlines()
    assert 0 == main(["profile", *words, "--json"])
    told = json.loads(capsys.readouterr().out)

    assert lines[0].startswith(first)
    assert all(len(line) <= 80 for line in lines)
    assert f"otel-attrib/{schema}" == told["schema"]


@pytest.mark.parametrize(
    "words", [("diff", BEFORE, AFTER), ("roofline", QWEN), ("heatmap", BEFORE)], ids=lambda w: w[0]
)
def test_ascii_output(monkeypatch: pytest.MonkeyPatch, words: tuple[str, ...]) -> None:
    """Where standard output knows ASCII alone, every sign has a stand-in."""
    written = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(written, encoding="ascii", write_through=True))

    assert 0 == main(["profile", *words])
    assert b"?" not in written.getvalue()
    assert len(written.getvalue()) > 100


def test_pictures(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """--png and --html write files of their kinds and say so."""
    png, html = tmp_path / "h.png", tmp_path / "h.html"

    assert 0 == main(["profile", "heatmap", QWEN, "--png", str(png), "--html", str(html)])
    assert f"written to {png} and {html}" in capsys.readouterr().out
    assert b"\x89PNG\r\n\x1a\n" == png.read_bytes()[:8]
    assert html.read_text().startswith("<!doctype html>")


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("diff", BEFORE), "profile diff takes two profiles"),
        (("roofline",), "profile roofline takes one profile"),
        (("heatmap", BEFORE, AFTER), "profile heatmap takes one profile"),
        (("roofline", BEFORE, "--card", "abacus"), "no card 'abacus'; choose one of"),
        (("roofline", BEFORE, "--link", "rope"), "write pcie<generation>x<lanes>"),
        (("heatmap", BEFORE, "--html", "/nowhere/h.html"), "cannot write /nowhere/h.html"),
        (("diff", BEFORE, "nowhere.json"), "cannot read nowhere.json"),
    ],
)
def test_usage(capsys: pytest.CaptureFixture[str], words: tuple[str, ...], said: str) -> None:
    """What cannot be done is one line and exit code 2."""
    assert 2 == main(["profile", *words])
    fault = capsys.readouterr().err

    assert said in fault
    assert 1 == len(fault.splitlines())


@pytest.mark.parametrize("part", [(), ("roofline",), ("heatmap",), ("diff",)], ids=" ".join)
def test_a_cut_file_is_told_by_every_part(
    part: tuple[str, ...], capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """What was read of a file that ends early is answered with that; no change is made of what is missing."""
    whole = gzip.decompress(Path(NCCL).read_bytes())
    cut = tmp_path / "cut.json"
    cut.write_bytes(whole[: len(whole) * 9 // 10])
    files = [str(cut), NCCL] if part == ("diff",) else [str(cut)]

    assert 0 == main(["profile", *part, *files])
    lines = capsys.readouterr().out.splitlines()
    assert 0 == main(["profile", *part, *files, "--json"])
    told = capsys.readouterr().out

    answer = " ".join(lines[: lines.index("")])
    endings = {(): "; its file is cut", ("heatmap",): "; the file is cut", ("diff",): "as A is cut"}
    assert answer.endswith(endings.get(part, ""))
    assert any("the file ends inside its JSON" in line for line in lines)
    assert "the file ends inside its JSON" in told


@pytest.mark.parametrize("option", ["--html", "--png"])
@pytest.mark.parametrize("way", ["same", "dotted", "link"])
def test_a_picture_never_replaces_the_profile(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, option: str, way: str
) -> None:
    """A picture that would be written over the profile is refused, by whatever path it is named."""
    profile = tmp_path / "a.json.gz"
    profile.write_bytes(Path(QWEN).read_bytes())
    (tmp_path / "link").symlink_to(profile)
    place = {"same": str(profile), "dotted": f"{tmp_path}/./a.json.gz", "link": str(tmp_path / "link")}[way]

    assert 2 == main(["profile", "heatmap", str(profile), option, place])
    assert "is the profile itself" in capsys.readouterr().err
    assert Path(QWEN).read_bytes() == profile.read_bytes()


def test_two_pictures_need_two_places(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """An image and a page of one name are refused before either is written."""
    place = tmp_path / "h"

    assert 2 == main(["profile", "heatmap", QWEN, "--png", str(place), "--html", str(place)])
    assert "--png and --html name one file" in capsys.readouterr().err
    assert not place.exists()


def test_png_without_matplotlib(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Where matplotlib is not installed, the extra that brings it is named."""
    for name in [name for name in sys.modules if name.split(".")[0] == "matplotlib"]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, "matplotlib", None)

    assert 0 != main(["profile", "heatmap", QWEN, "--png", str(tmp_path / "h.png")])
    assert "otel-attrib[plot]" in capsys.readouterr().err
