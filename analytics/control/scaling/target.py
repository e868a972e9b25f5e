"""What is scaled by what: the words that both manifests are made of."""

import re
from dataclasses import dataclass

from otel_attrib.analytics.control.scaling.promql import quantile_query
from otel_attrib.analytics.objectives import Limit, Objective
from otel_attrib.errors import UsageError

__all__ = ["SOURCES", "Target"]

SOURCES = {"hpa": ("external", "pods"), "keda": ("prometheus", "api")}
"""Format → where its number may come from, the default first."""

NAME = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")


@dataclass(frozen=True, slots=True)
class Target:
    """A deployment between `least` and `most` replicas, held to one latency of an objective.

    `threshold_ms` is the one in force when this is made; `server` is Prometheus or this service.
    """

    objective: Objective
    limit: Limit
    threshold_ms: float
    deployment: str
    least: int
    most: int
    namespace: str = ""
    server: str = ""
    window: str = "5m"
    auth: str = ""

    def __post_init__(self) -> None:
        """Refuse names and numbers that Kubernetes would."""
        for what, name in (
            ("deployment", self.deployment),
            ("namespace", self.namespace),
            ("auth", self.auth),
        ):
            if (name or what == "deployment") and (NAME.fullmatch(name) is None or len(name) > 253):
                raise UsageError(f"--{what} {name!r} is no name: small letters, digits and -, no - at an end")
        if not 1 <= self.least <= self.most <= 100_000:
            raise UsageError(f"--min {self.least} and --max {self.most}: write 1 ≤ min ≤ max")
        if '"' in self.server or any(letter.isspace() for letter in self.server):
            raise UsageError(f"--server {self.server!r} is no address")

    @property
    def name(self) -> str:
        """Return the manifest's name: the deployment's and the objective's, cut to what Kubernetes takes."""
        words = re.sub(r"[^a-z0-9-]+", "-", f"{self.deployment}-{self.objective.name}".lower())
        return words[:63].strip("-")

    @property
    def level(self) -> float:
        """Return the quantile: the objective's target."""
        return self.objective.target

    def query(self) -> str:
        """Return PromQL for the quantile over the threshold, from the histograms of /metrics."""
        metric, where = self.limit.metric, self.objective.where
        return quantile_query(metric, self.level, where, self.window, self.threshold_ms)

    def metadata(self) -> dict[str, object]:
        """Return the manifest's metadata."""
        said: dict[str, object] = {
            "name": self.name,
            "labels": {"app.kubernetes.io/managed-by": "otel-attrib"},
            "annotations": {
                "otel-attrib.dev/objective": self.objective.name,
                "otel-attrib.dev/latency": self.limit.metric,
                "otel-attrib.dev/quantile": f"{self.level:g}",
                "otel-attrib.dev/threshold-ms": f"{self.threshold_ms:g}",
            },
        }
        return said | ({"namespace": self.namespace} if self.namespace else {})

    def behavior(self) -> dict[str, object]:
        """Return how fast replicas may come and go: a tail falls late, after the queue is gone.

        Up: at most half as many again, or one, a minute. Down: one in two minutes, and only what five minutes
        agree on.
        """
        return {
            "scaleUp": {
                "stabilizationWindowSeconds": 0,
                "selectPolicy": "Max",
                "policies": [
                    {"type": "Percent", "value": 50, "periodSeconds": 60},
                    {"type": "Pods", "value": 1, "periodSeconds": 60},
                ],
            },
            "scaleDown": {
                "stabilizationWindowSeconds": 300,
                "policies": [{"type": "Pods", "value": 1, "periodSeconds": 120}],
            },
        }
