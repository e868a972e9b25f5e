"""Telling people: an incident becomes one alert that says why, and whoever is to be told is told once."""

from otel_attrib.analytics.alerting.alert import Alert, Change
from otel_attrib.analytics.alerting.evaluator import Evaluator, wanted
from otel_attrib.analytics.alerting.kinds import KINDS, Kind
from otel_attrib.analytics.alerting.silences import Silence

__all__ = ["KINDS", "Alert", "Change", "Evaluator", "Kind", "Silence", "wanted"]
