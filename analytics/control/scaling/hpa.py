"""A HorizontalPodAutoscaler (autoscaling/v2) that holds an objective's quantile to its threshold."""

from typing import Any

from otel_attrib.analytics.control.scaling.target import Target

__all__ = ["EXTERNAL", "PODS", "hpa"]

EXTERNAL = "otel_attrib_slo_pressure"
"""The external metric: the quantile over its threshold, 1 at it."""

PODS = "otel_attrib_slo_pressure_pod"
"""The same of each pod on its own, which the autoscaler averages."""


def hpa(target: Target, source: str = "external") -> dict[str, Any]:
    """Return the manifest; `source` is external (one number) or pods (one a pod, averaged)."""
    return {
        "apiVersion": "autoscaling/v2",
        "kind": "HorizontalPodAutoscaler",
        "metadata": target.metadata(),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target.deployment},
            "minReplicas": target.least,
            "maxReplicas": target.most,
            "metrics": [_pods() if source == "pods" else _external(target)],
            "behavior": target.behavior(),
        },
    }


def _external(target: Target) -> dict[str, Any]:
    selector = {"matchLabels": {"objective": target.objective.name, "latency": target.limit.metric}}
    return {
        "type": "External",
        "external": {
            "metric": {"name": EXTERNAL, "selector": selector},
            # Value, not AverageValue: a latency is not shared out among pods.
            "target": {"type": "Value", "value": "1"},
        },
    }


def _pods() -> dict[str, Any]:
    target = {"type": "AverageValue", "averageValue": "1"}
    return {"type": "Pods", "pods": {"metric": {"name": PODS}, "target": target}}
