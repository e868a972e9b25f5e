"""What people read, for every verdict: compared with texts kept beside this file.

`OTEL_ATTRIB_REWRITE=1 pytest tests/analytics/reports` writes them anew; read the difference.
"""

import os
from collections.abc import Callable
from pathlib import Path

import pytest

from otel_attrib.analytics.findings import SliceLine
from otel_attrib.analytics.matrix import matrix_of
from otel_attrib.analytics.report import Report
from otel_attrib.analytics.report_text import VIEWS, render

EXPECTED = Path(__file__).parent / "expected"
REWRITE = bool(os.environ.get("OTEL_ATTRIB_REWRITE"))
CASES = "cause cause_set mix load global no_regression fell insufficient likely empty diff".split()
Make = Callable[..., Report]

HEADLINES = {
    "cause": "P99 TTFT rose 412 → 871 ms (+459): GPU +398 ms (87 %, p 0.97) on node3:GPU-5",
    "mix": "P99 TTFT rose 412 → 871 ms (+459): the prompts became longer, no layer at fault",
    "load": "P99 TTFT rose 412 → 871 ms (+459): more requests arrived, no layer at fault",
    "global": "P99 TTFT rose 412 → 871 ms (+459): +300 in prefill, layer not known",
    "no_regression": "P99 TTFT shows no regression: 412 → 418 ms (+6.10)",
    "fell": "P99 TTFT fell 412 → 300 ms (-112)",
    "insufficient": "P99 TTFT cannot be judged: 412 → 771 ms (+359)",
    "likely": "P99 TTFT cannot be judged: 373 → 512 ms (+139)",
    "empty": "P99 TTFT cannot be judged.",
    "diff": "P99 TTFT rose A 412 → B 871 ms (+459): host CPU +420 ms (92 %, p 0.91)",
}


@pytest.mark.parametrize("name", CASES)
def test_text_is_as_kept(case: Make, name: str) -> None:
    """Each verdict's whole text is the one that was read and found right."""
    text, file = render(case(name)), EXPECTED / f"{name}.txt"
    if REWRITE:
        file.write_text(text)

    assert file.read_text() == text


@pytest.mark.parametrize("view", ["layers", "stages", "golden"])
def test_views_are_as_kept(case: Make, view: str) -> None:
    """Each view's tables are those that were read and found right."""
    text, file = render(case("cause"), view), EXPECTED / f"view_{view}.txt"
    if REWRITE:
        file.write_text(text)

    assert file.read_text() == text


@pytest.mark.parametrize("name", HEADLINES)
def test_the_answer_is_first(case: Make, name: str) -> None:
    """The text begins with the answer, then the verdict."""
    lines = render(case(name)).split("\n")
    until = next(i for i, text in enumerate(lines) if text.startswith(case(name).verdict.word))

    assert HEADLINES[name] == " ".join(" ".join(lines[:until]).split())


@pytest.mark.parametrize("view", VIEWS)
@pytest.mark.parametrize("name", CASES)
def test_no_line_is_wider_than_80_columns(case: Make, name: str, view: str) -> None:
    """Every verdict in every view fits a terminal, and no line ends in a blank."""
    report = case(name)
    matrix = matrix_of({metric: report for metric in ("ttft", "tpot", "tbt")})
    text = render(case(name, matrix=matrix), view)

    assert [] == [line for line in text.splitlines() if len(line) > 80 or line != line.rstrip()]


def test_evidence_is_sorted_by_what_it_speaks_for(case: Make) -> None:
    """What points to another layer than the one named speaks against the answer."""
    text = render(case("cause"))
    speaks_for, against = text.index("What speaks for it"), text.index("What speaks against it")

    assert speaks_for < text.index("power cap 62 %") < against < text.index("9 replays a minute")


def test_long_lists_are_cut_with_their_number(case: Make) -> None:
    """Of nine findings six are shown, and three are said to be in the JSON."""
    evidence = case("cause").evidence[:1] * 9
    text = render(case("cause", evidence=evidence))

    assert 6 == text.count("power cap")
    assert "and 3 more (--json has all)" in text


def test_what_would_decide_it_is_said_when_it_abstains(case: Make) -> None:
    """An answer that stands needs nothing more; one that abstains says what would decide."""
    assert "What would decide it" in render(case("global"))
    assert "What would decide it" not in render(case("cause", deciding=("More requests",)))


def test_heavier_requests_are_called_what_they_are(case: Make) -> None:
    """Longer prompts, longer answers, or where neither mean moved, heavier requests."""
    told = {
        means: render(case("mix", means=dict(means))).split("(+459): ")[1].split(",")[0]
        for means in (
            (("prompt_tokens", (100.0, 300.0)), ("output_tokens", (100.0, 120.0))),
            (("prompt_tokens", (100.0, 101.0)), ("output_tokens", (100.0, 120.0))),
            (("prompt_tokens", (100.0, 101.0)),),
            (),
        )
    }
    expected = [
        "the prompts became longer",
        "the answers became longer",
        *["the requests became heavier"] * 2,
    ]

    assert expected == list(told.values())


def test_a_faint_rise_is_called_one(case: Make) -> None:
    """A rise that is there, but perhaps too small to count, is no all-clear; what would decide it is said."""
    report = case("no_regression", ms=(412.0, 450.0), deviation=10.0, deciding=("windows twice as long",))
    text = render(report)

    assert "P99 TTFT rose 412 → 450 ms (+38.0), not surely enough to matter" == text.split("\n")[0]
    assert "What would decide it\n  ? windows twice as long" in text
    assert "What would decide it" not in render(case("no_regression", deciding=("windows twice as long",)))


def test_an_all_clear_is_short(case: Make) -> None:
    """Where nothing got slower, counters that moved and slow requests are no news, unless a view is asked."""
    seen = {name: getattr(case("cause"), name) for name in ("evidence", "slices", "exemplars")}
    calm = case("no_regression", **seen)

    assert render(case("no_regression")) == render(calm)
    assert "power cap" in render(calm, "layers") and "Who was hit" in render(calm, "layers")


def test_one_machine_is_named_without_its_dimension(case: Make) -> None:
    """A node or a device is its own name; anything else says what it is."""
    told = [
        render(case("global", slices=(SliceLine(where, 10, 0.9),))).split("in prefill ")[1].split(",")[0]
        for where in (
            {"node": "n3"},
            {"gpu": "n3:GPU-5"},
            {"node": "n3", "gpu_set": "GPU-5"},
            {"tenant": "t"},
        )
    ]

    assert ["on n3", "on n3:GPU-5", "on n3:GPU-5", "for tenant=t"] == told


def test_load_is_more_requests_or_others(case: Make) -> None:
    """At the same rate it is how requests came, whatever their prompts; else more of them came."""
    rate, prompts = ("requests_per_s", (100.0, 102.0)), ("prompt_tokens", (100.0, 150.0))
    told = [
        render(case("load", means=dict(means))).split("(+459): ")[1].split(",")[0]
        for means in ([rate, prompts], [("requests_per_s", (100.0, 130.0)), prompts], [rate], [])
    ]

    spread = "requests came in bursts or to fewer engines"
    assert [spread, "more requests arrived", spread, "more requests arrived"] == told


def test_small_layers_share_a_line(case: Make) -> None:
    """Layers below half a percent stand together, and the table still adds up."""
    text = render(case("cause"), "layers")
    shown = [line.split() for line in text.splitlines() if line.startswith("  ")]
    five = next(words for words in shown if words[1:3] == ["other", "layers"])

    assert ["5", "other", "layers", "0", "0", "%"] == five


def test_the_definition_stands_at_the_end(case: Make) -> None:
    """The number is never shown without what it measures."""
    assert "TTFT: arrival at the server to first token written." == render(case("cause")).splitlines()[-2]
