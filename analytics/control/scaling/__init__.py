"""An objective's threshold as a target for Kubernetes: HorizontalPodAutoscaler and KEDA ScaledObject.

They are YAML for people to read, keep and apply; nothing is sent anywhere.
"""

from otel_attrib.analytics.control.scaling.hpa import hpa
from otel_attrib.analytics.control.scaling.keda import keda
from otel_attrib.analytics.control.scaling.target import SOURCES, Target
from otel_attrib.analytics.control.scaling.text import manifest_text

__all__ = ["SOURCES", "Target", "hpa", "keda", "manifest_text"]
