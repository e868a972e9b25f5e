"""`otel-attrib profile`: the answer first, the promised JSON, and one line for what cannot be read."""

import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from otel_attrib.cli import main

FIXTURES = Path(__file__).parents[1] / "fixtures"
BERT = str(FIXTURES / "kineto/h100_bert.json.gz")
NSYS = str(FIXTURES / "nsys/mfu_2gpu_before.sqlite.gz")
DECODE = str(FIXTURES / "kineto/vllm_decode.json.gz")
NCCL = str(FIXTURES / "kineto/hta_nccl_data.json.gz")


def said(capsys: pytest.CaptureFixture[str], *words: str) -> str:
    """What the command prints, after a check of its exit code."""
    assert 0 == main(["profile", *words])
    return capsys.readouterr().out


def told(capsys: pytest.CaptureFixture[str], *words: str) -> dict[str, Any]:
    """The object that the command prints."""
    found: dict[str, Any] = json.loads(said(capsys, *words, "--json"))
    return found


def test_the_answer_comes_first(capsys: pytest.CaptureFixture[str]) -> None:
    """The first line names the device, the loss and its reason."""
    first = said(capsys, BERT).splitlines()[0]

    assert "GPU 0 idle 92 % of 3.91 ms, nearly all of it waiting for the host" == first


@pytest.mark.parametrize("file", [BERT, NSYS, DECODE, NCCL], ids=lambda file: Path(file).name)
def test_eighty_columns(file: str, capsys: pytest.CaptureFixture[str]) -> None:
    """No line is wider than a terminal of 80 columns."""
    assert [] == [line for line in said(capsys, file).splitlines() if len(line) > 80]


def test_the_promised_object(capsys: pytest.CaptureFixture[str]) -> None:
    """Every promised field is there, and its figures are those of HolisticTraceAnalysis."""
    found = told(capsys, NCCL)
    (device,) = found["devices"]

    assert "otel-attrib/profile/1" == found["schema"]
    assert 0 == device["device"]
    # tests/fixtures/kineto/oracle/hta_nccl_data
    assert 660551.0056 == pytest.approx(device["span_us"], rel=1e-6)
    assert 115655.847 == pytest.approx(device["compute_us"], rel=1e-6)
    assert 503050.9914 == pytest.approx(device["idle_us"], rel=1e-6)
    assert 0.1561 == pytest.approx(device["overlap_communication_share"], abs=5e-5)
    assert {
        "device",
        "span_us",
        "compute_us",
        "communication_us",
        "memory_us",
        "idle_us",
        "idle_host_us",
    } <= set(device)
    assert {"class", "us", "count"} <= set(device["kernels"][0])
    assert {"busy_us", "bytes", "gb_per_s"} <= set(device["copies"]["d2d"])
    assert device["copies"]["d2d"]["gb_per_s"] == pytest.approx(
        device["copies"]["d2d"]["bytes"] / device["copies"]["d2d"]["busy_us"] / 1e3, rel=1e-3
    )
    assert device["verdict"].startswith("idle 76 %")


def test_without_communication_there_is_no_share(capsys: pytest.CaptureFixture[str]) -> None:
    """A share of nothing is null, and so is a direction without copies: absent."""
    (device,) = told(capsys, BERT)["devices"]

    assert device["overlap_communication_share"] is None
    assert {"d2h"} == set(device["copies"])


def test_two_devices_of_one_file(capsys: pytest.CaptureFixture[str]) -> None:
    """Each device of a file has its own breakdown; the first line is about the one that computes least."""
    first = said(capsys, NSYS).splitlines()[0]

    assert [0, 1] == [device["device"] for device in told(capsys, NSYS)["devices"]]
    assert first.startswith("2 devices, the worst: GPU 0 computes 85 % of 300 ms")


def test_several_files_are_ranks_of_one_run(capsys: pytest.CaptureFixture[str]) -> None:
    """Files stand in one list by rank and device, each with the file it came from."""
    found = told(capsys, DECODE, NCCL)

    assert [(0, 0, NCCL), (0, 2, DECODE)] == [
        (device["rank"], device["device"], device["file"]) for device in found["devices"]
    ]


def test_a_file_without_a_device(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace of the host alone is answered with what is missing, not with zeros."""
    path = tmp_path / "host.json"
    path.write_text('{"traceEvents": [{"ph":"X","cat":"cpu_op","name":"aten::mm","ts":1,"dur":2,"args":{}}]}')
    lines = said(capsys, str(path)).splitlines()

    assert "this profile holds nothing that a device did" == lines[0]
    assert "missing: no activity of a device: the profiler recorded the host only" in lines
    assert [] == told(capsys, str(path))["devices"]


@pytest.mark.parametrize(
    ("content", "code", "message"),
    [(b"hello", 1, "is neither JSON"), (b"", 1, "is empty"), (None, 2, "cannot read")],
    ids=["other", "empty", "absent"],
)
def test_faults_are_one_line(
    content: bytes | None, code: int, message: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """What is no profile is named in one line, with exit code 1, or 2 for a file that cannot be opened."""
    path = tmp_path / "x.json"
    if content is not None:
        path.write_bytes(content)

    assert code == main(["profile", str(path)])
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("otel-attrib profile: ")
    assert message in line


def written(path: Path, *changes: dict[str, Any], **header: Any) -> str:
    """A trace of kernels, each changed; returns its path."""
    kernel = {
        "ph": "X",
        "cat": "kernel",
        "name": "gemm",
        "ts": 10,
        "dur": 5,
        "args": {"device": 0, "stream": 7},
    }
    path.write_text(json.dumps(header | {"traceEvents": [kernel | change for change in changes]}))
    return str(path)


def test_without_calls_no_reason_is_given(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A trace without calls of the runtime has no reason for any gap: not in the answer, null in the JSON."""
    file = written(tmp_path / "a.json", {}, {"ts": 20}, {"ts": 90})
    (device,) = told(capsys, file)["devices"]

    assert "GPU 0 idle 82 % of 85 µs, reason not recorded" == said(capsys, file).splitlines()[0]
    assert [None, None, None] == [device[f"idle_{why}_us"] for why in ("host", "kernel", "other")]
    assert 70 == device["idle_unknown_us"] == device["idle_us"]


@pytest.mark.parametrize("way", ["same", "dotted", "link"])
def test_a_file_given_twice_is_refused(way: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """One file is one rank, by whatever path it is named."""
    file = written(tmp_path / "a.json", {})
    (tmp_path / "b.json").symlink_to(file)
    again = {"same": file, "dotted": f"{tmp_path}/./a.json", "link": str(tmp_path / "b.json")}[way]

    assert 2 == main(["profile", file, again])
    assert "is given twice" in capsys.readouterr().err


def test_the_file_is_named_where_devices_are_called_alike(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two files that name no rank both have a GPU 0: the answer says whose it is about."""
    busy, idle = written(tmp_path / "busy.json", {}), written(tmp_path / "idle.json", {}, {"ts": 90})

    first = said(capsys, busy, idle).splitlines()[0]
    assert first.startswith("2 devices, the worst: GPU 0 (idle.json) idle 88 % of 85 µs")


@pytest.mark.parametrize("part", [(), ("--json",), ("roofline",), ("heatmap",), ("diff",)], ids=" ".join)
@pytest.mark.parametrize("encoding", ["ascii", "latin-1", "utf-8"])
def test_any_name_can_be_written(
    part: tuple[str, ...], encoding: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Names in any script and with escapes are written as the terminal takes them."""
    bad = "卡\x1b[31m\n\ud800é"
    file = written(tmp_path / "名é.json", {"name": bad}, deviceProperties=[{"id": 0, "name": bad}])
    out = io.BytesIO()
    monkeypatch.setattr(sys, "stdout", io.TextIOWrapper(out, encoding=encoding, write_through=True))

    assert 0 == main(["profile", *part, *[file] * (2 if part == ("diff",) else 1)])
    assert b"\x1b" not in out.getvalue()
    if part == ("--json",):
        assert file == json.loads(out.getvalue())["devices"][0]["file"]


@pytest.mark.parametrize(
    "words",
    [
        ("--json", NSYS),
        ("diff", "--json", NSYS, NSYS),
        ("diff", NSYS, "--json", NSYS),
        ("roofline", "--card", "h100_sxm", "--json", NSYS),
        ("heatmap", "--by", "class", "--json", NSYS),
        ("--json", "heatmap", "--by", "class", NSYS),
    ],
    ids=lambda words: " ".join(Path(word).name for word in words),
)
def test_options_stand_anywhere(words: tuple[str, ...], capsys: pytest.CaptureFixture[str]) -> None:
    """Options may stand before, between and behind the files."""
    assert 0 == main(["profile", *words])
    assert json.loads(capsys.readouterr().out)["schema"].startswith("otel-attrib/profile")


def test_an_unknown_option_is_still_refused(capsys: pytest.CaptureFixture[str]) -> None:
    """An option that is none is named, and nothing is taken for a file."""
    with pytest.raises(SystemExit) as ended:
        main(["profile", "diff", "--jsn", NSYS, NSYS])

    assert 2 == ended.value.code
    assert "unrecognized arguments: --jsn" in capsys.readouterr().err


def test_the_documentation_shows_what_is_printed(capsys: pytest.CaptureFixture[str]) -> None:
    """The example of the page is this command's own output."""
    shown = said(capsys, BERT)

    assert f"```text\n{shown}```" in (FIXTURES.parents[1] / "docs/profiles.md").read_text()
