"""A manifest as YAML, with what it assumes above it in comments."""

import textwrap
from typing import Any

from otel_attrib.analytics.control.scaling.hpa import EXTERNAL, PODS
from otel_attrib.analytics.control.scaling.promql import pod_query
from otel_attrib.analytics.control.scaling.target import Target
from otel_attrib.analytics.exposition.bounds import HISTOGRAMS

__all__ = ["assumptions", "manifest_text"]

WIDTH = 100


def manifest_text(manifest: dict[str, Any], target: Target, source: str) -> str:
    """Return the file; the comments are part of it."""
    import yaml

    head = [
        f"{manifest['kind']} of deployment {target.deployment}: P{100 * target.level:g}"
        f" {target.limit.metric.upper()} of objective {target.objective.name} held to"
        f" {target.threshold_ms:g} ms.",
        "What this assumes:",
    ]
    lines = [*head, *(f"- {each}" for each in assumptions(target, source))]
    comments = "\n".join(_comment(line) for line in lines)
    rule = f"\n#\n{_rules(target, source)}" if source in ("external", "pods") else ""
    body = yaml.safe_dump(manifest, sort_keys=False, allow_unicode=True, width=1000)
    return f"{comments}{rule}\n{body}"


def assumptions(target: Target, source: str) -> list[str]:
    """Return what has to be true for the manifest to do any good, one sentence each."""
    where = f" where {target.objective.where}" if target.objective.where.allowed else ""
    kept = "the threshold is in the manifest as it is in force now: make it anew when it moves"
    own = {
        "external": f"Prometheus and its adapter serve {EXTERNAL} as an external metric, by the rules below",
        "pods": f"Prometheus and its adapter serve {PODS} for each pod, by the rules below, from the engine's"
        " own histograms (vLLM's): they know nothing of tenants or classes, so the whole pod is meant",
        "prometheus": f"Prometheus scrapes this service's /metrics ({HISTOGRAMS[target.limit.metric].name});"
        " the quantile is interpolated between two bounds of the histogram",
        "api": "KEDA reaches this service; the threshold in force is used, so nothing here changes with it",
    }
    first = [
        f"the requests meant (all{where}) are served by this deployment, and more replicas shorten their"
        " wait: true of a queue, not of a slow card, link or host. Ask `otel-attrib why` first",
        "the number falls as replicas are added. A tail does not fall in proportion, so the steps are small:"
        " half as many again a minute up, one in two minutes down",
        "a replica is ready within minutes: one that loads a model for longer comes too late for a burst",
        "without requests there is no number, and the autoscaler leaves the replicas as they are",
    ]
    return [*first, own[source], *([] if source == "api" else [kept])]


def _comment(line: str) -> str:
    """Comment lines. YAML ends a line at more letters than textwrap does: none of them is let through."""
    indent = "#   " if line.startswith("- ") else "# "
    return "\n".join(
        textwrap.wrap(
            "".join(letter if letter.isprintable() else " " for letter in line),
            WIDTH,
            initial_indent="# ",
            subsequent_indent=indent,
            break_on_hyphens=False,
            break_long_words=False,
        )
    )


def _rules(target: Target, source: str) -> str:
    """Return the rules of Prometheus and of prometheus-adapter that make the metric, as comments."""
    import yaml

    name = PODS if source == "pods" else EXTERNAL
    of_pods = {"namespace": {"resource": "namespace"}, "pod": {"resource": "pod"}}
    record: dict[str, Any] = {"record": name}
    if source == "pods":
        record["expr"] = pod_query(target.limit.metric, target.level, target.window, target.threshold_ms)
        rule = {"seriesQuery": name, "resources": {"overrides": of_pods}}
        adapter = {
            "rules": [{**rule, "metricsQuery": "max(<<.Series>>{<<.LabelMatchers>>}) by (<<.GroupBy>>)"}]
        }
    else:
        labels = {"objective": target.objective.name, "latency": target.limit.metric}
        record |= {"expr": target.query(), "labels": labels}
        rule = {"seriesQuery": name, "resources": {"namespaced": False}}
        adapter = {"externalRules": [{**rule, "metricsQuery": "max(<<.Series>>{<<.LabelMatchers>>})"}]}
    prometheus = {"groups": [{"name": "otel-attrib-scaling", "rules": [record]}]}
    lines = ["Prometheus rule:"]
    for title, body in (("", prometheus), ("prometheus-adapter:", adapter)):
        lines += [title] if title else []
        lines += yaml.safe_dump(body, sort_keys=False, width=1000).splitlines()
    return "\n".join(f"# {line}" for line in lines)
