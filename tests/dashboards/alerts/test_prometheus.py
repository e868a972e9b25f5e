"""Rules for Prometheus: promtool checks and runs them; the shipped file is what the command writes."""

import subprocess
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest
import yaml

from otel_attrib.analytics.alerting.kinds import KINDS, PROMETHEUS
from otel_attrib.analytics.alerting.links import Links
from otel_attrib.analytics.filters import parse_filter
from otel_attrib.analytics.objectives import Limit, Objective, load_objectives
from otel_attrib.analytics.objectives.objective import Timeslices
from otel_attrib.analytics.objectives.presets import PRESETS
from otel_attrib.dashboards.alerts import prometheus_rules
from otel_attrib.dashboards.alerts.selector import obstacle, selector

ROOT = Path(__file__).parents[3]
ALERTS = ROOT / "dashboards/alerts"
SLICES = Timeslices(timedelta(minutes=5), 0.9)
LINKS = Links("https://otel-attrib.example", "https://otel-attrib.example/runbooks")


def objective(*words: str, **limits: float) -> Objective:
    """An objective over 30 days, joint when it has several limits."""
    found = tuple(Limit(metric, ms) for metric, ms in limits.items())
    return Objective("o", "", parse_filter(words), found)


def test_the_shipped_rules_are_current() -> None:
    """rules.yaml is what export makes of the shipped objectives; the tests of promtool rest on it."""
    file = prometheus_rules(load_objectives(ROOT / "examples/slo"), LINKS, ("sla_class",))

    assert (ALERTS / "rules.yaml").read_text() == file.text
    assert () == file.warnings


@pytest.mark.parametrize("name", sorted(path.name for path in (ALERTS / "tests").glob("*.yaml")))
def test_series_that_must_fire_and_must_not(program: Callable[[str], str], name: str) -> None:
    """promtool runs the rules over series, among them those that must raise nothing."""
    done = subprocess.run(
        [program("promtool"), "test", "rules", str(ALERTS / "tests" / name)], capture_output=True, text=True
    )

    assert 0 == done.returncode, done.stdout + done.stderr


def test_promtool_checks_every_preset(program: Callable[[str], str], tmp_path: Path) -> None:
    """The rules of every preset, for any title, model and tenant, are ones that Prometheus takes."""
    where = parse_filter(['model=a"b\\c', "model=x.y", "tenant={{ t }}"])
    objectives = [
        replace(preset.objective(name, where), title="{{ odd }} {{") for name, preset in PRESETS.items()
    ]
    path = tmp_path / "rules.yaml"
    path.write_text(prometheus_rules(objectives, LINKS, ("tenant",)).text)

    done = subprocess.run([program("promtool"), "check", "rules", str(path)], capture_output=True, text=True)

    assert 0 == done.returncode, done.stdout + done.stderr


def test_every_alert_of_prometheus_is_exported() -> None:
    """The alerts in the file are those that the table of alerts says Prometheus raises."""
    content = yaml.safe_load((ALERTS / "rules.yaml").read_text())
    exported = {rule["alert"] for group in content["groups"] for rule in group["rules"] if "alert" in rule}

    assert {name for name, kind in KINDS.items() if PROMETHEUS in kind.by} == exported


def test_a_single_limit_is_exact() -> None:
    """A limit on a bound, on labels that there are, comes out of the histogram without a warning."""
    file = prometheus_rules([objective("model=m", ttft=450)], LINKS)

    assert () == file.warnings
    assert 'le="0.45"' in file.text
    assert "otel_attrib_slo_burn_rate" not in file.text


@pytest.mark.parametrize(
    ("given", "why"),
    [
        (objective(ttft=450, tpot=40), "several limits at once"),
        (objective(ttft=451), "451 ms is no bound"),
        (objective("tenant=a", ttft=450), "setting metrics_labels can add tenant"),
        (objective("node=n1", ttft=450), "no label for node"),
        (objective(tbt=100), "longest gap"),
        (
            Objective("o", "", parse_filter([]), (Limit("ttft", 450),), slices=SLICES),
            "slices of time",
        ),
    ],
    ids=["joint", "between", "tenant", "node", "tbt", "slices"],
)
def test_what_a_histogram_cannot_tell(given: Objective, why: str) -> None:
    """The reason is said, and the service's own exact rates are taken."""
    file = prometheus_rules([given], LINKS)

    assert why in obstacle(given)
    (warning,) = file.warnings
    assert why in warning
    assert 'otel_attrib_slo_burn_rate{slo="o",window="1h"}' in file.text
    assert "otel_attrib:slo_error" not in file.text


def test_nearest() -> None:
    """Asked for, a limit between two bounds is judged at the one above, and that is said."""
    file = prometheus_rules([objective(ttft=451)], LINKS, nearest=True)

    assert 'le="0.5"' in file.text
    assert "at the bound above" in file.warnings[0]


def test_nearest_is_for_bounds_alone() -> None:
    """Beside a limit between two bounds, what no bound can tell is still taken from the service's rates."""
    file = prometheus_rules([replace(objective(ttft=451, tbt=100), joint=False)], LINKS, nearest=True)

    assert "longest gap" in file.warnings[0]
    assert 'otel_attrib_slo_burn_rate{slo="o",window="1h"}' in file.text
    assert "otel_attrib:slo_error" not in file.text


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ((), ""),
        (("service=chat",), 'service_name="chat"'),
        (("model=a", "model=b.c"), 'gen_ai_request_model=~"a|b\\\\.c"'),
        (('model=a"b',), 'gen_ai_request_model="a\\"b"'),
    ],
)
def test_selectors(words: tuple[str, ...], expected: str) -> None:
    """A condition is a selector whose values match themselves and nothing else."""
    assert expected == selector(objective(*words, ttft=450))
