"""Seeing that the tail got slower: conditional exceedances counted by second, judged by an e-CUSUM."""

from otel_attrib.analytics.detection.cusum import RATIOS, ECusum
from otel_attrib.analytics.detection.detector import Alarm, Detector
from otel_attrib.analytics.detection.dispersion import Dispersion, Spread
from otel_attrib.analytics.detection.season import Season

__all__ = ["RATIOS", "Alarm", "Detector", "Dispersion", "ECusum", "Season", "Spread"]
