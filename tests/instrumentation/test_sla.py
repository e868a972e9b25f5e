"""Whose request it is: headers first, then baggage, then rules, else absent."""

import json
from pathlib import Path

import pytest

from otel_attrib.instrumentation import sla
from otel_attrib.instrumentation.sla import Rule, promise, read_rules
from otel_attrib.schema.attributes import SLA_CLASS, SLA_DEADLINE_MS, TENANT


def headers(**values: str) -> list[tuple[bytes, bytes]]:
    """Headers as ASGI gives them."""
    return [(name.replace("_", "-").encode(), value.encode()) for name, value in values.items()]


def test_every_header() -> None:
    """Each given name is read from its header; the deadline is a number."""
    found = promise(
        headers(
            x_slatag_stream_id="s1",
            x_slatag_sla_deadline_ms="250.5",
            x_slatag_sla_class="interactive",
            x_tenant_id="acme",
            x_slatag_partition_id="7",
            flink_operator_id="map-3",
            x_slatag_parallelism="4",
        ),
        "m",
        rules=(),
    )

    assert {
        "slatag.stream_id": "s1",
        "slatag.sla_deadline_ms": 250.5,
        "slatag.sla_class": "interactive",
        "slatag.tenant": "acme",
        "slatag.partition_id": "7",
        "slatag.operator_id": "map-3",
        "slatag.parallelism": "4",
    } == found


def test_nothing_said() -> None:
    """A request that says nothing has none of the names."""
    assert {} == promise([], "m", rules=())


@pytest.mark.parametrize("deadline", ["soon", "-5", "0", "nan", "inf", ""])
def test_an_unusable_deadline_is_none(deadline: str) -> None:
    """A deadline that is no positive number is as good as absent; the request is not harmed."""
    assert {} == promise(headers(x_slatag_sla_deadline_ms=deadline), "m", rules=())


def test_baggage() -> None:
    """Baggage carries the same names, percent-encoded, and Flink's own for the operator."""
    carried = [(b"baggage", b"slatag.tenant=a%20b;p=1, flink_operator_id=op9,slatag.stream_id=s")]

    assert {
        "slatag.tenant": "a b",
        "slatag.operator_id": "op9",
        "slatag.stream_id": "s",
    } == promise(carried, "m", rules=())


def test_a_header_wins_over_baggage() -> None:
    """What a header says is not overruled by baggage."""
    said = [*headers(x_slatag_tenant="header"), (b"baggage", b"slatag.tenant=baggage")]

    assert "header" == promise(said, "m", rules=())[TENANT]


def test_headers_of_ones_own() -> None:
    """A site names its own header for a dimension; it is asked before ours."""
    more = "slatag.tenant=X-Org-Id"

    assert "o1" == promise(headers(x_org_id="o1", x_tenant_id="t1"), "m", (), more)[TENANT]
    assert "t1" == promise(headers(x_tenant_id="t1"), "m", (), more)[TENANT]


def test_a_wrong_header_setting_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    """A pair that is no attribute=header is said in one line, and the others hold."""
    assert "o1" == promise(headers(x_org="o1"), "m", (), "tenant=x, slatag.tenant=x-org")[TENANT]
    assert "'tenant=x' is not attribute=header" in capsys.readouterr().err


def test_first_matching_rule_fills_what_is_missing() -> None:
    """Rules go by model and tenant; the first that matches counts, and never overrules a header."""
    rules = (
        Rule("llama*", "acme", {SLA_CLASS: "gold", SLA_DEADLINE_MS: 100}),
        Rule("llama*", "*", {SLA_CLASS: "silver", SLA_DEADLINE_MS: 500}),
    )

    def asked(model: str, **said: str) -> tuple[object, object]:
        found = promise(headers(**said), model, rules)
        return found.get(SLA_CLASS), found.get(SLA_DEADLINE_MS)

    assert ("gold", 100.0) == asked("llama-8b", x_tenant_id="acme")
    assert ("silver", 500.0) == asked("llama-8b")
    assert ("silver", 50.0) == asked("llama-8b", x_slatag_sla_deadline_ms="50")
    assert (None, None) == asked("qwen")


def test_rules_from_files(tmp_path: Path) -> None:
    """TOML and JSON say the same."""
    toml, other = tmp_path / "sla.toml", tmp_path / "sla.json"
    toml.write_text('[[rule]]\nmodel = "l*"\nsla_deadline_ms = 200\nsla_class = "x"\n')
    other.write_text(json.dumps({"rule": [{"model": "l*", "sla_deadline_ms": 200, "sla_class": "x"}]}))

    assert (Rule("l*", "*", {SLA_DEADLINE_MS: 200, SLA_CLASS: "x"}),) == read_rules(toml) == read_rules(other)


@pytest.mark.parametrize(
    ("text", "complaint"),
    [
        ("[[rule]]\nsla_deadline = 5", "rule 1 sets sla_deadline; known are"),
        ("[[rule]]\n[[rule]]\nsla_deadline_ms = -1", "rule 2: sla_deadline_ms is -1, not a positive number"),
    ],
    ids=["unknown key", "negative deadline"],
)
def test_a_wrong_rule_says_which(tmp_path: Path, text: str, complaint: str) -> None:
    """A rule that cannot be meant names its number and the fault."""
    path = tmp_path / "sla.toml"
    path.write_text(text)

    with pytest.raises(ValueError, match=complaint):
        read_rules(path)


def test_a_broken_file_harms_no_request(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file that cannot be read is said once, and requests go on without rules."""
    path = tmp_path / "sla.toml"
    path.write_text("[[rule")
    monkeypatch.setenv("OTEL_ATTRIB_SLA_FILE", str(path))
    sla._rules.cache_clear()

    assert {} == promise([], "m") == promise([], "m")
    assert 1 == capsys.readouterr().err.count(f"OTEL_ATTRIB_SLA_FILE is not used: {path}")
    sla._rules.cache_clear()


def test_long_values_are_cut() -> None:
    """A header of any length leaves at most 256 characters in a span."""
    assert 256 == len(promise(headers(x_tenant_id="x" * 5000), "m", rules=())[TENANT])
