"""A KEDA ScaledObject that holds an objective's quantile to its threshold."""

from typing import Any
from urllib.parse import urlencode

from otel_attrib.analytics.control.scaling.target import Target

__all__ = ["keda"]

SERVERS = {"prometheus": "http://prometheus.monitoring.svc:9090", "api": "http://otel-attrib:8080"}


def keda(target: Target, source: str = "prometheus") -> dict[str, Any]:
    """Return the manifest; `source` is prometheus (its query) or api (this service's /slo/pressure)."""
    trigger = _api(target) if source == "api" else _prometheus(target)
    if target.auth:  # what a trigger calls its way of authentication differs from scaler to scaler
        trigger["metadata"]["authMode" if source == "api" else "authModes"] = "bearer"
        trigger["authenticationRef"] = {"name": target.auth}
    return {
        "apiVersion": "keda.sh/v1alpha1",
        "kind": "ScaledObject",
        "metadata": target.metadata(),
        "spec": {
            "scaleTargetRef": {"apiVersion": "apps/v1", "kind": "Deployment", "name": target.deployment},
            "minReplicaCount": target.least,
            "maxReplicaCount": target.most,
            "pollingInterval": 15,
            "triggers": [trigger],
            "advanced": {"horizontalPodAutoscalerConfig": {"behavior": target.behavior()}},
        },
    }


def _prometheus(target: Target) -> dict[str, Any]:
    return {
        "type": "prometheus",
        "metricType": "Value",
        "metadata": {
            "serverAddress": target.server or SERVERS["prometheus"],
            "query": target.query(),
            "threshold": "1",
            # No data is a fault, and the replicas stay; as 0 it would send them home.
            "ignoreNullValues": "false",
        },
    }


def _api(target: Target) -> dict[str, Any]:
    words = {"name": target.objective.name, "metric": target.limit.metric, "window": target.window}
    return {
        "type": "metrics-api",
        "metricType": "Value",
        "metadata": {
            "url": f"{(target.server or SERVERS['api']).rstrip('/')}/api/v1/slo/pressure?{urlencode(words)}",
            "valueLocation": "value",
            "targetValue": "1",
        },
    }
