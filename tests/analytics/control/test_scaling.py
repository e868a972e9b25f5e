"""Manifests against the published schemas of Kubernetes and KEDA, and their PromQL by hand."""

import json
from itertools import product
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

from otel_attrib.analytics.control.scaling import SOURCES, Target, hpa, keda, manifest_text
from otel_attrib.analytics.control.scaling.promql import matchers
from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.errors import UsageError

FIXTURES = Path(__file__).parents[2] / "fixtures/autoscaling"
SCHEMAS = {
    "hpa": "horizontalpodautoscaler.autoscaling-v2.k8s-1.37.json",
    "keda": "scaledobject.keda-2.16.json",
}
CASES = [(kind, source) for kind, sources in SOURCES.items() for source in sources]
LIMITS = (Limit("ttft", 120.0), Limit("tpot", 30.0), Limit("tbt", 60.0), Limit("e2e", 5000.0))


def objective(*where: str) -> Objective:
    """An objective on all four latencies."""
    return Objective("gold-chat", "Gold", parse_filter(where), LIMITS)


def target(limit: int = 0, **more: Any) -> Target:
    """A target of one latency of it."""
    given = {"threshold_ms": 135.5, "deployment": "vllm-chat", "least": 1, "most": 8, **more}
    return Target(objective("service=chat", "model=llama"), LIMITS[limit], **given)


def validator(kind: str) -> Any:
    """What refuses a manifest that the API server would."""
    schema = json.loads((FIXTURES / SCHEMAS[kind]).read_text())
    return jsonschema.Draft202012Validator(schema)


def made(kind: str, source: str, of: Target) -> str:
    """The manifest as text."""
    return manifest_text((hpa if kind == "hpa" else keda)(of, source), of, source)


@pytest.mark.parametrize(
    ("kind", "source", "limit"), [(*case, limit) for case, limit in product(CASES, range(4))]
)
def test_manifests_are_valid(kind: str, source: str, limit: int) -> None:
    """Every format from every source, for every latency, with and without the options, fits its schema."""
    plain = made(kind, source, target(limit))
    full = made(
        kind, source, target(limit, namespace="prod", server="http://here:1", auth="token", threshold_ms=30)
    )

    for text in (plain, full):
        validator(kind).validate(yaml.safe_load(text))


@pytest.mark.parametrize("kind", SOURCES)
def test_the_schemas_refuse(kind: str) -> None:
    """The schemas are strict enough to refuse a misspelt field and a wrong type."""
    whole = yaml.safe_load(made(kind, SOURCES[kind][0], target()))
    misspelt = {**whole, "spec": {**whole["spec"], "maxReplica": 3}}
    field = "maxReplicas" if kind == "hpa" else "maxReplicaCount"
    wrong = {**whole, "spec": {**whole["spec"], field: "eight"}}

    assert not list(validator(kind).iter_errors(whole))
    assert list(validator(kind).iter_errors(misspelt))
    assert list(validator(kind).iter_errors(wrong))


def test_numbers_of_the_manifest() -> None:
    """Replicas are those asked for, and the target is one threshold, not shared out among pods."""
    found = yaml.safe_load(made("hpa", "external", target()))["spec"]
    trigger = yaml.safe_load(made("keda", "api", target()))["spec"]["triggers"][0]

    assert (1, 8) == (found["minReplicas"], found["maxReplicas"])
    assert {"type": "Value", "value": "1"} == found["metrics"][0]["external"]["target"]
    assert ("Value", "1", "value") == (
        trigger["metricType"],
        trigger["metadata"]["targetValue"],
        trigger["metadata"]["valueLocation"],
    )
    assert trigger["metadata"]["url"] == (
        "http://otel-attrib:8080/api/v1/slo/pressure?name=gold-chat&metric=ttft&window=5m"
    )


def test_bearer_tokens_of_keda() -> None:
    """With --auth a trigger refers to the TriggerAuthentication and says that it holds a bearer token."""
    for source, name in (("api", "authMode"), ("prometheus", "authModes")):
        (trigger,) = yaml.safe_load(made("keda", source, target(auth="token")))["spec"]["triggers"]
        assert ("bearer", {"name": "token"}) == (trigger["metadata"][name], trigger["authenticationRef"])


def test_promql_by_hand() -> None:
    """The query is the quantile of the exported histogram over the threshold in seconds."""
    assert target().query() == (
        "histogram_quantile(0.99, sum by (le) (rate(gen_ai_server_time_to_first_token_seconds_bucket"
        '{gen_ai_request_model="llama",service_name="chat"}[5m]))) / 0.1355 >= 0'
    )


def test_label_values_are_quoted() -> None:
    """Quotes, backslashes and regular expression signs in a value mean themselves."""
    assert r'service_name="a\"b\\c"' == matchers(parse_filter(['service=a"b\\c']))
    assert r'gen_ai_request_model=~"a\\.b|c\\+"' == matchers(parse_filter(["model=a.b", "model=c+"]))
    assert 'slatag_tenant="acme"' == matchers(parse_filter(["tenant=acme"]))


def test_what_metrics_do_not_carry_is_refused() -> None:
    """A dimension that /metrics has no label for is refused, and the way out is named."""
    with pytest.raises(UsageError, match="--source api"):
        matchers(parse_filter(["node=n0"]))


@pytest.mark.parametrize(
    "wrong",
    [
        {"deployment": "Vllm"},
        {"deployment": ""},
        {"deployment": "-x"},
        {"namespace": "a b"},
        {"least": 0},
        {"least": 9},
        {"server": 'http://x" y'},
        {"auth": "A"},
    ],
    ids=str,
)
def test_what_kubernetes_would_refuse(wrong: dict[str, Any]) -> None:
    """Names and replica counts that the API server would not take are refused here."""
    with pytest.raises(UsageError):
        target(**wrong)


@pytest.mark.parametrize(("kind", "source"), CASES)
def test_assumptions_are_told(kind: str, source: str) -> None:
    """Every manifest says above itself what it assumes, and stays one YAML document."""
    text = made(kind, source, target())

    assert "# What this assumes:" in text
    assert "why" in text and "leaves the replicas as they are" in " ".join(text.replace("#", "").split())
    assert 1 == len(list(yaml.safe_load_all(text)))
    assert ("the threshold is in the manifest" in text) == (source != "api")


@pytest.mark.parametrize("end", ["\n", "\r", "\x85", "\u2028", "\u2029", "\x0b", "\x0c"])
@pytest.mark.parametrize(("kind", "source"), CASES)
def test_no_name_ends_a_comment(kind: str, source: str, end: str) -> None:
    """A model with any of YAML's line ends in its name leaves one manifest, the one that was made."""
    odd = parse_filter([f"model=a{end}kind: Pod{end}b"])
    of = Target(Objective("odd", f"t{end}kind: Pod", odd, LIMITS), LIMITS[0], 135.5, "vllm", 1, 8)

    assert {"hpa": "HorizontalPodAutoscaler", "keda": "ScaledObject"}[kind] == yaml.safe_load(
        made(kind, source, of)
    )["kind"]
