"""The shipped collector configurations: every key is documented, and the sampling arithmetic is unbiased."""

import copy
import hashlib
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import yaml

from otel_attrib.schema.attributes import REQUEST_SCOPE, SAMPLE_REASON, SAMPLE_WEIGHT, STEPS_SCOPE
from otel_attrib.schema.migration import migrations

FOLDER = Path(__file__).parents[2] / "deploy/otel-collector"
FILES = sorted(FOLDER.glob("*.yaml"))
SAMPLING = ("gateway", "gateway-clickhouse", "kafka-consumer")
GATE = "processor.tailsamplingprocessor.recordpolicy"


def load(name: str) -> dict[str, Any]:
    """A shipped configuration."""
    found: dict[str, Any] = yaml.safe_load((FOLDER / f"{name}.yaml").read_text("utf-8"))
    return found


def test_all_are_shipped() -> None:
    """Agent, gateways and both ends of Kafka."""
    assert {"agent", "gateway", "gateway-clickhouse", "kafka-consumer", "kafka-producer"} == {
        file.stem for file in FILES
    }


@pytest.mark.parametrize("file", FILES, ids=lambda file: file.stem)
def test_every_key_is_documented(documented: Any, file: Path) -> None:
    """Keys and types are those of the components' published configuration; pipelines name what is there."""
    assert [] == documented.faults(yaml.safe_load(file.read_text("utf-8")))


WRONG = {
    "a wrong key": (("processors", "tail_sampling", "decision_wiat"), "10s", "decision_wiat: no such key"),
    "a wrong type": (("processors", "tail_sampling", "num_traces"), "many", "'many' is no int"),
    "no duration": (("processors", "batch", "timeout"), "1 second", "is no duration"),
    "an unknown component": (("processors", "tail_smapling"), {}, "tail_smapling: no such component"),
    "a required key": (("exporters", "otlp/store", "endpoint"), None, "endpoint is missing"),
    "nested": (("exporters", "otlp/store", "sending_queue", "size"), 1, "sending_queue.size: no such key"),
    "not defined": (("service", "pipelines", "traces", "exporters"), ["otlp/x"], "otlp/x is not defined"),
    "a list": (("processors", "tail_sampling", "policies"), {"name": "x"}, "policies: not a list"),
}


@pytest.mark.parametrize("case", WRONG)
def test_what_is_wrong_is_found(documented: Any, case: str) -> None:
    """A misspelt key, a wrong type, a missing or unknown part each fail the check."""
    path, value, told = WRONG[case]
    config: Any = load("gateway")
    place = config
    for name in path[:-1]:
        place = place[name]
    if value is None:
        del place[path[-1]]
    else:
        place[path[-1]] = value

    assert told in "; ".join(documented.faults(config))


def test_sources_are_named(documented: Any) -> None:
    """Each component and type of the fixture says where it was read, with a whole commit."""
    known = documented.all
    sources = [one["source"] for kind in known if kind != "licence" for one in known[kind].values()]

    assert "Apache-2.0" == known["licence"]
    assert [] == [text for text in sources if not re.fullmatch(r"(core|contrib) \S+ [0-9a-f]{40}", text)]


def policies(config: dict[str, Any]) -> list[dict[str, Any]]:
    """The tail-sampling policies, in order."""
    found: list[dict[str, Any]] = config["processors"]["tail_sampling"]["policies"]
    return found


@pytest.mark.parametrize("name", SAMPLING)
def test_the_weight_is_one_over_the_share(name: str) -> None:
    """The transform sets 100 / sampling_percentage for the policy that thins, behind it, with the gate."""
    config = load(name)
    (thinning,) = (one for one in policies(config) if one["type"] == "probabilistic")
    weight = 100 / thinning["probabilistic"]["sampling_percentage"]
    (block,) = config["processors"]["transform/weight"]["trace_statements"]
    order = config["service"]["pipelines"]["traces"]["processors"]

    assert policies(config)[-1] is thinning
    assert config["processors"]["tail_sampling"]["sample_on_first_match"]
    assert [f'instrumentation_scope.attributes["tailsampling.policy"] == "{thinning["name"]}"'] == block[
        "conditions"
    ]
    assert [weight, weight] == [float(re.findall(r"\d+\.\d+", text)[0]) for text in block["statements"]]
    assert order.index("tail_sampling") < order.index("transform/weight")
    assert f"--feature-gates={GATE}" in (FOLDER / f"{name}.yaml").read_text("utf-8")


@pytest.mark.parametrize("name", SAMPLING)
def test_names_are_those_of_the_registry(name: str) -> None:
    """Policies and the transform name attributes and scopes that the shim writes."""
    text = (FOLDER / f"{name}.yaml").read_text("utf-8")

    assert {STEPS_SCOPE} == set(re.findall(r'scope\.name == "([^"]+)"', text))
    assert {SAMPLE_WEIGHT, SAMPLE_REASON, "slatag.first_byte_latency_us", "slatag.tpot_us"} == set(
        re.findall(r'attributes\["(slatag[^"]+)"\]', text)
    )


def test_tables_are_ours() -> None:
    """The ClickHouse exporter writes into tables that the migrations make, and makes none itself."""
    made = set(re.findall(r"CREATE TABLE IF NOT EXISTS (\w+)", "\n".join(one.text for one in migrations())))
    exporter = load("gateway-clickhouse")["exporters"]["clickhouse"]
    named = [exporter["traces_table_name"], exporter["logs_table_name"]]
    named += [table["name"] for table in exporter["metrics_tables"].values()]

    assert 7 == len(named)
    assert set(named) <= made
    assert exporter["create_schema"] is False


def test_one_collector_sees_a_whole_trace() -> None:
    """Where traces are decided on at their end, they come by trace id: balanced, or keyed in Kafka."""
    assert "traceID" == load("agent")["exporters"]["loadbalancing"]["routing_key"]
    assert load("kafka-producer")["exporters"]["kafka"]["partition_traces_by_id"]
    topics = {
        signal: load("kafka-producer")["exporters"]["kafka"][signal]
        for signal in ("traces", "metrics", "logs")
    }
    read = load("kafka-consumer")["receivers"]["kafka"]
    assert {signal: (one["topic"], one["encoding"]) for signal, one in topics.items()} == {
        signal: (*read[signal]["topics"], read[signal]["encoding"]) for signal in topics
    }
    assert {"otlp_proto"} == {one["encoding"] for one in topics.values()}


# A fake of the collector's two processors: just the policies and statements that these files use, by the
# documented rules, with a hash of its own in the place of the collector's.


def decided(config: dict[str, Any], span: dict[str, Any]) -> str:
    """The name of the first policy that keeps the trace of one span, or nothing."""
    return next((one["name"] for one in policies(config) if _keeps(one, span)), "")


def _keeps(policy: dict[str, Any], span: dict[str, Any]) -> bool:
    rule = policy[policy["type"]]
    match policy["type"]:
        case "status_code":
            return bool(span["status"] in rule["status_codes"])
        case "latency":
            return bool(span["ms"] >= rule["threshold_ms"])
        case "probabilistic":
            digest = hashlib.sha256((rule["hash_salt"] + span["trace"]).encode()).digest()
            return bool(int.from_bytes(digest[:8], "big") < rule["sampling_percentage"] / 100 * 2**64)
        case "ottl_condition":
            return any(_true(text, span) for text in rule["span"])
    raise NotImplementedError(policy["type"])


def _true(condition: str, span: dict[str, Any]) -> bool:
    if found := re.fullmatch(r'attributes\["(.+)"\] > ([\d.]+)', condition):
        return bool(span["attributes"].get(found[1], -1.0) > float(found[2]))
    if found := re.fullmatch(r'attributes\["(.+)"\] == "(.+)"', condition):
        return bool(span["attributes"].get(found[1]) == found[2])
    if found := re.fullmatch(r'instrumentation_scope\.name == "(.+)"', condition):
        return bool(span["scope"] == found[1])
    raise NotImplementedError(condition)


_SET = (
    r'set\(attributes\["(.+?)"\], (?:attributes\["\1"\] \* )?([\d.]+)\)'
    r' where attributes\["\1"\] (!=|==) nil'
)


def weighed(config: dict[str, Any], span: dict[str, Any], policy: str) -> dict[str, Any]:
    """The span's attributes behind the transform."""
    (block,) = config["processors"]["transform/weight"]["trace_statements"]
    attributes = dict(span["attributes"])
    if not block["conditions"][0].endswith(f'== "{policy}"'):
        return attributes
    for text in block["statements"]:
        found = re.fullmatch(_SET, text)
        assert found is not None, text
        if (found[1] in attributes) == (found[3] == "!="):
            attributes[found[1]] = attributes.get(found[1], 1.0) * float(found[2])
    return attributes


def traffic(seed: int, count: int = 2000) -> Iterator[dict[str, Any]]:
    """Requests, a few of them slow, long or failed; the shim has thinned a third to one in four before."""
    chance = np.random.default_rng(seed)
    for number in range(count):
        ttft_us = float(chance.lognormal(11.5, 0.7)) * (5 if chance.random() < 0.02 else 1)
        attributes: dict[str, Any] = {"slatag.first_byte_latency_us": ttft_us, "slatag.tpot_us": 20_000.0}
        if number % 3 == 0:
            if chance.random() >= 0.25:
                continue
            attributes[SAMPLE_WEIGHT] = 4.0
        yield {
            "trace": f"{seed:08x}{number:024x}",
            "scope": REQUEST_SCOPE,
            "status": "ERROR" if chance.random() < 0.01 else "UNSET",
            "ms": 40_000 if chance.random() < 0.01 else ttft_us / 1000 + 2000,
            "attributes": attributes,
        }


def counted(spans: Any, level: float) -> tuple[float, float]:
    """How many requests (value, weight) pairs stand for, and their quantile."""
    pairs = sorted(spans)
    values, weights = (np.array(column) for column in zip(*pairs, strict=True))
    total = weights.cumsum()
    return float(total[-1]), float(values[np.searchsorted(total, level * total[-1])])


def test_all_gateways_sample_alike() -> None:
    """What decides and what weighs is the same in all files that sample."""
    parts = [
        [load(name)["processors"][part] for part in ("tail_sampling", "transform/weight")]
        for name in SAMPLING
    ]

    assert [parts[0]] * 3 == parts


def test_sampled_counts_and_quantiles_are_unbiased() -> None:
    """Over many streams Σ weights and weighted quantiles behind a gateway are on average those before it."""
    config = load("gateway")
    found = []
    for seed in range(50):
        before = list(traffic(seed))
        kept = [(span, decided(config, span)) for span in before]
        after = [(weighed(config, span, policy), policy) for span, policy in kept if policy]
        assert len(after) < 0.25 * len(before)
        sides = [
            [(one["slatag.first_byte_latency_us"], one.get(SAMPLE_WEIGHT, 1.0)) for one in side]
            for side in ([span["attributes"] for span in before], [one for one, _ in after])
        ]
        found.append([counted(side, level) for side in sides for level in (0.5, 0.99)])

    for place, what in ((0, 0), (0, 1), (1, 1)):  # count; P50; P99
        full, sampled = (np.array([row[place + 2 * side][what] for row in found]) for side in (0, 1))
        error = (sampled - full).std(ddof=1) / len(found) ** 0.5
        assert abs((sampled - full).mean()) < max(3.5 * error, 0.003 * full.mean())


def test_a_wrong_weight_is_biased() -> None:
    """With half the weight the same measure is far off: the test above can fail."""
    config = copy.deepcopy(load("gateway"))
    (block,) = config["processors"]["transform/weight"]["trace_statements"]
    block["statements"] = [text.replace("10.0", "5.0") for text in block["statements"]]
    before = list(traffic(1))
    kept = [(span, decided(config, span)) for span in before]
    total = sum(weighed(config, span, policy).get(SAMPLE_WEIGHT, 1.0) for span, policy in kept if policy)

    assert total < 0.7 * sum(span["attributes"].get(SAMPLE_WEIGHT, 1.0) for span in before)
