"""OpenSLO files: what is read, what is written, and that both keep to OpenSLO's own schema."""

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft7Validator
from referencing import Registry, Resource

from otel_attrib.analytics.filters import DIMENSIONS, Filter
from otel_attrib.analytics.objectives import BurnPair, Limit, Objective, Timeslices, load_objectives
from otel_attrib.analytics.objectives.presets import PRESETS
from otel_attrib.analytics.objectives.writing import openslo_objects, openslo_yaml

ROOT = Path(__file__).parents[3]
SCHEMA = ROOT / "tests/fixtures/openslo"
CLASSES = ROOT / "examples/slo/classes.yaml"

SLO = """
apiVersion: openslo/v1
kind: SLO
metadata: {{name: chat}}
spec:
  service: chat
  indicator{ref}
  timeWindow: [{{duration: 30d, isRolling: true}}]
  budgetingMethod: {method}
  objectives: {objectives}
"""
GOOD = "{metricSource: {type: otel-attrib, spec: {limits: {ttft: 450ms, tpot: 0.04s}, where: {model: m}}}}"
TOTAL = "{metricSource: {type: otel-attrib, spec: {where: {model: m}}}}"
RATIO = f": {{metadata: {{name: i}}, spec: {{ratioMetric: {{counter: true, good: {GOOD}, total: {TOTAL}}}}}}}"


@pytest.fixture(scope="module")
def valid() -> Draft7Validator:
    """OpenSLO's own schema, as it was published."""
    schemas = [json.loads(path.read_text()) for path in SCHEMA.rglob("*.json")]
    registry: Registry[Any] = Registry().with_resources(
        (schema["$id"], Resource.from_contents(schema)) for schema in schemas
    )
    (whole,) = (schema for schema in schemas if schema["$id"].endswith("/openslo.schema.json"))
    return Draft7Validator(whole, registry=registry)


def read(tmp_path: Path, text: str) -> tuple[Objective, ...]:
    """The objectives of a file with this text."""
    file = tmp_path / "slo.yaml"
    file.write_text(text)
    return load_objectives(file)


def slo(ref: str = RATIO, method: str = "Occurrences", objectives: str = "[{target: 0.99}]") -> str:
    """An SLO with one part replaced."""
    return SLO.format(ref=ref, method=method, objectives=objectives)


def test_the_shipped_classes_are_openslo(valid: Draft7Validator) -> None:
    """Every document of the shipped example is valid by OpenSLO's schema."""
    documents = list(yaml.safe_load_all(CLASSES.read_text()))

    assert 5 == len(documents)
    assert [] == [error.message for document in documents for error in valid.iter_errors(document)]


def test_the_schema_refuses_what_is_no_openslo(valid: Draft7Validator) -> None:
    """Without its target a document is refused by the published schema, so the test below can fail."""
    *_, document = yaml.safe_load_all(CLASSES.read_text())
    del document["spec"]["objectives"][0]["target"]

    assert not valid.is_valid(document)


def test_the_shipped_classes_are_what_was_promised() -> None:
    """Gold 120 ± 15 ms, Silver 300 ± 40 ms, Bronze 800 ± 120 ms, each with its actions."""
    found = {each.sla_class: each for each in load_objectives(CLASSES)}

    assert {"gold": (120, 15), "silver": (300, 40), "bronze": (800, 120)} == {
        name: (each.baseline_ms, each.buffer_ms) for name, each in found.items()
    }
    assert {
        "gold": ("guaranteed-bandwidth", "pinned-cpus"),
        "silver": ("dynamic-rate-limit", "request-sampling"),
        "bronze": ("asynchronous-batches", "lower-queue-weight"),
    } == {name: each.actions for name, each in found.items()}
    for each in found.values():
        assert each.baseline_ms is not None
        assert each.buffer_ms is not None
        assert (Limit("ttft", each.baseline_ms + each.buffer_ms),) == each.limits


@pytest.mark.parametrize("name", PRESETS)
def test_presets_are_openslo_and_read_back(name: str, valid: Draft7Validator, tmp_path: Path) -> None:
    """A preset as written is valid by OpenSLO's schema, and reads as the objective it is."""
    objective = PRESETS[name].objective(name)

    assert [] == [e.message for doc in openslo_objects([objective]) for e in valid.iter_errors(doc)]
    assert (objective,) == read(tmp_path, openslo_yaml([objective]))


def test_mlperf_limits_are_the_rules_table() -> None:
    """TTFT and TPOT in ms are those of the inference rules, and MLPerf's are not joint."""
    table = {
        "llama3.1-8b-conversational": (2000, 100),
        "llama3.1-8b-interactive": (500, 30),
        "llama2-70b-conversational": (2000, 200),
        "llama2-70b-interactive": (450, 40),
        "llama3.1-405b-server": (6000, 175),
        "llama3.1-405b-interactive": (4500, 80),
        "mixtral-8x7b-server": (2000, 200),
        "deepseek-r1-server": (2000, 80),
        "deepseek-r1-interactive": (1500, 15),
        "gpt-oss-120b-server": (3000, 80),
        "gpt-oss-120b-interactive": (2000, 20),
    }

    mlperf = {name: preset for name, preset in PRESETS.items() if preset.source.startswith("MLPerf")}
    assert table == {name: tuple(limit.ms for limit in preset.limits) for name, preset in mlperf.items()}
    assert {False} == {preset.joint for preset in mlperf.values()}


def test_a_ratio_is_read(tmp_path: Path) -> None:
    """Limits, requests, target and window stand where OpenSLO has them."""
    (found,) = read(tmp_path, slo())

    assert (Limit("ttft", 450), Limit("tpot", 40)) == found.limits
    assert (Filter((("model", ("m",)),)), True, 0.99) == (found.where, found.joint, found.target)
    assert (timedelta(days=30), "chat", None, ()) == (
        found.window,
        found.service,
        found.slices,
        found.alerts,
    )


def test_bad_in_place_of_good_means_the_same(tmp_path: Path) -> None:
    """`bad` names the requests that broke a limit of the same list."""
    assert read(tmp_path, slo()) == read(tmp_path, slo(RATIO.replace("good:", "bad:")))


def test_a_threshold_has_its_limit_in_the_objective(tmp_path: Path) -> None:
    """op: lte and value are the limit, in the unit of the source."""
    spec = "spec: {metric: e2e, unit: s, where: {tenant: [acme, zen]}}"
    source = f"{{metricSource: {{type: otel-attrib, {spec}}}}}"
    ref = f": {{metadata: {{name: i}}, spec: {{thresholdMetric: {source}}}}}"

    (found,) = read(tmp_path, slo(ref, objectives="[{op: lte, value: 1.5, targetPercent: 99.9}]"))

    assert ((Limit("e2e", 1500.0),), 0.999) == (found.limits, found.target)
    assert Filter((("tenant", ("acme", "zen")),)) == found.where


def test_references_between_documents(tmp_path: Path) -> None:
    """SLI, data source and policy may stand in other files of a folder; hidden files are passed over."""
    (tmp_path / "a.yaml").write_text(slo("Ref: ttft") + "  alertPolicies: [fast]\n")
    (tmp_path / "deep").mkdir()
    (tmp_path / "deep/b.yml").write_text(
        "apiVersion: openslo/v1\nkind: SLI\nmetadata: {name: ttft}\nspec: {ratioMetric: {counter: true, "
        "good: {metricSource: {metricSourceRef: ours, spec: {metric: ttft, limit: 450}}}, "
        "total: {metricSource: {metricSourceRef: ours, spec: {}}}}}\n---\n"
        "apiVersion: openslo/v1\nkind: DataSource\nmetadata: {name: ours}\n"
        "spec: {type: otel-attrib, connectionDetails: {}}\n---\n"
        "apiVersion: openslo/v1\nkind: AlertPolicy\nmetadata: {name: fast}\nspec: {alertWhenBreaching: true, "
        "conditions: [{conditionRef: quick}], notificationTargets: [{targetRef: x}]}\n---\n"
        "apiVersion: openslo/v1\nkind: AlertCondition\nmetadata: {name: quick}\nspec: {severity: critical, "
        "condition: {kind: burnrate, op: gt, threshold: 2, lookbackWindow: 1h, alertAfter: 5m}}\n"
    )
    (tmp_path / ".hidden.yaml").write_text("not: ours\n")
    (tmp_path / "notes.txt").write_text("not ours\n")

    (found,) = load_objectives(tmp_path)

    assert (Limit("ttft", 450.0),) == found.limits
    (pair,) = found.alerts
    assert (2.0, timedelta(hours=1), timedelta(minutes=5), "page") == (
        pair.factor,
        pair.long,
        pair.short,
        pair.severity,
    )
    assert pair.share == pytest.approx(2 / 720)
    assert (pair,) == found.pairs()


def test_anchors_and_merges(tmp_path: Path) -> None:
    """`<<` brings an anchor's fields; a mapping's own win over them, and the first of several merges."""
    text = slo().replace("{limits: {ttft: 450ms, tpot: 0.04s},", "{limits: {<<: [*x, *y], tpot: 40ms},")
    text = text.replace("metadata: {name: chat}", "metadata: {name: chat, labels: {a: b}}")
    anchors = (
        "apiVersion: openslo/v1\nkind: DataSource\nmetadata: {name: d}\nspec:\n  type: otel-attrib\n"
        "  connectionDetails: {x: &x {ttft: 1ms, tpot: 2ms}, y: &y {ttft: 3ms, e2e: 4ms}}\n---\n"
    )
    # Anchors do not reach into another document, so they stand inside this one.
    text = text.replace(
        "labels: {a: b}", "annotations: {a: &x {ttft: 1ms, tpot: 2ms}, b: &y {ttft: 3ms, e2e: 4ms}}"
    )

    (found,) = read(tmp_path, anchors + text)

    assert (Limit("ttft", 1.0), Limit("tpot", 40.0), Limit("e2e", 4.0)) == found.limits


def test_several_objectives_of_one_slo_are_numbered(tmp_path: Path) -> None:
    """Each entry is an objective; title and name say which."""
    entries = "[{displayName: often, target: 0.9}, {displayName: always, target: 0.999}]"
    found = read(tmp_path, slo(objectives=entries))

    assert [("chat-1", "chat: often", 0.9), ("chat-2", "chat: always", 0.999)] == [
        (each.name, each.title, each.target) for each in found
    ]


def test_timeslices_are_read(tmp_path: Path) -> None:
    """A slice's target and length; a number alone is minutes, as OpenSLO says."""
    for length in ("5m", "5"):
        entries = f"[{{target: 0.99, timeSliceTarget: 0.95, timeSliceWindow: {length}}}]"
        (found,) = read(tmp_path, slo(method="Timeslices", objectives=entries))

        assert Timeslices(timedelta(minutes=5), 0.95) == found.slices


NAMES = st.from_regex(r"[a-z0-9][a-z0-9.-]{0,20}[a-z0-9]", fullmatch=True)
# What YAML can hold: no control characters, no surrogates, no byte order mark.
TEXTS = st.text(
    st.characters(exclude_categories=["Cs", "Cc", "Co", "Cn"], exclude_characters="\ufeff\u2028\u2029\x85"),
    min_size=1,
    max_size=30,
).filter(lambda text: text.strip() == text)
MS = st.floats(1e-3, 1e6, allow_nan=False).map(lambda ms: float(f"{ms:.6g}"))
MINUTES = st.integers(1, 60 * 24 * 90).map(lambda n: timedelta(minutes=n))


@st.composite
def objectives(draw: st.DrawFn) -> Objective:
    """Any objective that can be written."""
    metrics = draw(st.lists(st.sampled_from(["ttft", "tpot", "tbt", "e2e"]), min_size=1, unique=True))
    ordered = sorted(metrics, key=["ttft", "tpot", "tbt", "e2e"].index)
    chosen = draw(st.dictionaries(st.sampled_from(DIMENSIONS), st.lists(TEXTS, min_size=1, max_size=3)))
    slice_minutes = draw(st.integers(1, 60))
    window = timedelta(minutes=slice_minutes * draw(st.integers(60, 2000)))
    long = draw(st.integers(2, 60))
    factor = draw(st.floats(0.1, 100).map(lambda x: float(f"{x:.4g}")))
    pair = BurnPair(
        factor,
        timedelta(minutes=long),
        timedelta(minutes=draw(st.integers(1, long))),
        draw(st.sampled_from(["page", "ticket"])),
        factor * (timedelta(minutes=long) / window),
    )
    return Objective(
        name=draw(NAMES),
        title=draw(TEXTS),
        where=Filter(tuple(sorted((name, tuple(values)) for name, values in chosen.items()))),
        limits=tuple(Limit(metric, draw(MS)) for metric in ordered),
        joint=draw(st.booleans()),
        target=draw(st.floats(0.01, 0.9999)),
        window=window,
        sla_class=draw(st.sampled_from(["", "gold", "1"])),
        baseline_ms=draw(st.none() | MS),
        buffer_ms=draw(st.none() | MS),
        actions=tuple(draw(st.lists(st.from_regex(r"[a-z0-9][a-z0-9-]{0,9}", fullmatch=True), max_size=3))),
        service=draw(NAMES),
        description=draw(st.just("") | TEXTS),
        slices=draw(st.none() | st.just(Timeslices(timedelta(minutes=slice_minutes), 0.9))),
        alerts=draw(st.just(()) | st.just((pair,))),
    )


@given(objective=objectives())
def test_what_is_written_is_read_back(
    objective: Objective, tmp_path_factory: pytest.TempPathFactory, valid: Draft7Validator
) -> None:
    """Every objective is OpenSLO as written, and the same objective as read."""
    file = tmp_path_factory.mktemp("slo") / "slo.yaml"
    file.write_text(openslo_yaml([objective], comment="Made by a test.\n\nTwice."))

    assert [] == [e.message for doc in openslo_objects([objective]) for e in valid.iter_errors(doc)]
    assert (objective,) == load_objectives(file)
