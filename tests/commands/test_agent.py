"""`otel-attrib agent` as its users meet it: the catalogue, one look, and the words for what is not there."""

import json
import os
import re
import signal
import subprocess
import sys
import time

import pytest

from otel_attrib.cli import main
from otel_attrib.collector.agent.catalogue import SOURCES
from otel_attrib.collector.agent.look import Look, Seen, Value
from otel_attrib.collector.agent.source import series
from otel_attrib.commands.agent_table import engine_line, look_lines, rate, took
from otel_attrib.commands.quantity import quantity


@pytest.mark.parametrize(
    ("value", "unit", "shown"),
    [
        (79.6e9, "By", "79.6 GB"),
        (1.234e9, "By/s", "1.234 GB/s"),
        (0.0, "By", "0 B"),
        (999.0, "By", "999 B"),
        (1000.0, "By", "1 kB"),
        (1980.0, "MHz", "1,980 MHz"),
        (41.5, "Cel", "41.5 °C"),
        (0.4213, "1", "0.4213"),
        (0.000012, "s", "0.000012 s"),
        (3.0, "{error}", "3"),
        (123456.0, "s", "123,456 s"),
        (2.5e12, "{packet}", "2.500e+12"),
    ],
)
def test_quantity(value: float, unit: str, shown: str) -> None:
    """Numbers have four digits that matter, thousands, and the unit that a person says."""
    assert shown == quantity(value, unit)


@pytest.mark.parametrize(("every", "shown"), [(0.1, "100 ms"), (5.0, "5 s"), (0.5, "500 ms"), (60.0, "60 s")])
def test_rate(every: float, shown: str) -> None:
    """Rates are in the unit that is a whole number."""
    assert shown == rate(every)


@pytest.mark.parametrize(
    ("seconds", "shown"),
    [(0.000136, "0.14 ms"), (0.0023, "2.3 ms"), (0.0161, "16 ms"), (0.234, "230 ms"), (12.34, "12000 ms")],
)
def test_took(seconds: float, shown: str) -> None:
    """A slow read is told in digits, not in powers of ten."""
    assert shown == took(seconds)


def test_why_there_is_no_engine() -> None:
    """Whose processes are read is told, and where there are none what would change it, in one line each."""
    lines = [engine_line((17, 4000), False), engine_line((), False), engine_line((), True)]

    assert ["engines: pid 17, pid 4000", "--pid N", "hidepid"] == [
        next(word for word in ("engines: pid 17, pid 4000", "--pid N", "hidepid") if word in line)
        for line in lines
    ]
    assert all(len(line) <= 80 for line in lines)


def a_look() -> Look:
    """Two sources: a card, processes with long attributes; and one that is not there, with a long reason."""
    card = [
        Value(series("gpu_clock", "0"), 1980.0, None),
        Value(series("pcie_bytes_in", "11:3"), 9.87654e14, 63.0e9),
        Value(series("memory_controller", "0"), 0.5, None),
        Value(series("gpu_energy", "0"), 123_456_789.0, 700.5),
    ]
    process = series(
        "context_switches",
        process__pid="1234567",
        slatag__process__role="engine_core",
        process__context_switch__type="involuntary",
    )
    seen = [
        Seen("nvml", 0.1, 0.00123, card, [(series("pcie_receive", "0"), 2.1e11)]),
        Seen("switches", 1.0, 0.0002, [Value(process, 987_654_321.0, 12_345.6)], []),
        Seen("quiet", 1.0, 0.0002, [], []),
    ]
    return Look(
        seen, {"ebpf": "the kernel has no BTF: " + "install a kernel with CONFIG_DEBUG_INFO_BTF " * 3}
    )


def test_a_look_fits_80_columns() -> None:
    """However long attributes, numbers and reasons are; units and rates are in their columns."""
    lines = "\n".join(look_lines(a_look())).splitlines()

    assert [] == [line for line in lines if len(line) > 80]
    assert lines[0].startswith("3 of 4 sources answer, 5 values on ")
    assert any(re.search(r"gpu_clock +card 0 +1,980 MHz$", line) for line in lines)
    assert any(re.search(r"context_switches +pid 1234567 involuntary …", line) for line in lines)
    assert any(re.search(r"pcie_bytes_in +card 11:3 +987.7 TB +63 GB/s$", line) for line in lines)
    assert "  pcie_receive: 210 GB/s is no measurement: refused" in lines
    assert "  nothing to read now" in lines


def test_the_catalogue(capsys: pytest.CaptureFixture[str]) -> None:
    """Every source with its rate and what it reads, in 80 columns and as JSON."""
    assert 0 == main(["agent", "--list"])
    lines = capsys.readouterr().out.splitlines()
    assert 0 == main(["agent", "--list", "--json"])
    body = json.loads(capsys.readouterr().out)

    assert [] == [line for line in lines if len(line) > 80]
    assert list(SOURCES) == [entry["name"] for entry in body["sources"]]
    assert all(any(line.startswith(name) for line in lines) for name in SOURCES)


def test_a_rate_of_ones_own_is_listed(capsys: pytest.CaptureFixture[str]) -> None:
    """`--every` and `--sources` show in the catalogue."""
    name = next(iter(SOURCES))
    assert 0 == main(["agent", "--list", "--json", "--sources", name, "--every", f"{name}=7s"])

    assert [(name, 7.0)] == [
        (entry["name"], entry["every_s"]) for entry in json.loads(capsys.readouterr().out)["sources"]
    ]


def test_one_look_at_this_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """Every source answers or says why not, as a table within 80 columns and as JSON."""
    # Those of eBPF compile for seconds each, and have tests of their own.
    asked = [name for name, place in SOURCES.items() if not place.startswith("ebpf.")]
    words = ["agent", "--once", "--sources", ",".join(asked)]
    codes = [main(words)]
    table = capsys.readouterr().out
    codes.append(main([*words, "--json"]))
    body = json.loads(capsys.readouterr().out)
    named = {entry["name"] for entry in (*body["sources"], *body["unavailable"])}

    assert [] == [line for line in table.splitlines() if len(line) > 80]
    assert "otel-attrib/agent/1" == body["schema"]
    assert set(asked) == named
    assert all(entry["why"] for entry in body["unavailable"])
    readings = [reading for source in body["sources"] for reading in source["readings"]]
    assert all({"key", "metric", "unit", "kind", "value", "attributes"} <= set(each) for each in readings)
    assert 2 * [0 if body["sources"] else 1] == codes


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--sources", "nvlm"], "'nvlm' is no source"),
        (["--every", "nvml"], "give source=time"),
        (["--every", "nvml=1ms"], "10ms at least"),
        (["--budget", "lots"], "share of one core"),
        (["--budget", "0"], "share of one core"),
        (["--endpoint", "collector:4318"], "not of the form http://host:port"),
        (["--endpoint", "http://collector:99999"], "not of the form http://host:port"),
        (["--endpoint", "http://[::1"], "not of the form http://host:port"),
        (["--pid", "999999999"], "no such process"),
        (["--json"], "--json goes with --once or --list"),
    ],
)
def test_wrong_words(words: list[str], said: str, capsys: pytest.CaptureFixture[str]) -> None:
    """What cannot be used is told in one line, and the exit code is 2."""
    assert 2 == main(["agent", *words])
    told = capsys.readouterr().err

    assert said in told
    assert 1 == len(told.splitlines())


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_it(number: int) -> None:
    """It ends with 0 within seconds although its collector is away, and says what was not sent."""
    words = [
        sys.executable,
        "-m",
        "otel_attrib",
        "agent",
        "--endpoint",
        "http://127.0.0.1:9",
        "--sources",
        "cpu,clock",
    ]
    process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True, env=os.environ)
    assert process.stderr
    first = process.stderr.readline()
    time.sleep(1.0)
    began = time.monotonic()
    # Twice at once, as `timeout` does: the process, then its group.
    process.send_signal(number)
    time.sleep(0.01)
    process.send_signal(number)
    rest = process.communicate(timeout=20)[1]

    assert 0 == process.returncode
    assert time.monotonic() - began < 10
    assert "sends to http://127.0.0.1:9/v1/metrics" in first
    assert "ended: 0 readings sent" in rest
