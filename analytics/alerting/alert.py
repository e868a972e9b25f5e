"""An alert as it is told: who it is about, what was found, where to look on.

`labels` are the same from the first notification of an incident to the last, so that whoever receives it
knows that it is one; whatever may change with more data (verdict, layers, evidence) is an annotation. The
fingerprint is the incident: one incident is one alert.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any, Self

from otel_attrib.analytics.windows import parse_time, rfc3339

__all__ = ["ENDED", "NEW", "UPDATED", "Alert", "Change"]

NEW, UPDATED, ENDED = "new", "updated", "ended"
"""What happened to an alert."""


@dataclass(frozen=True, slots=True)
class Alert:
    """One alert of one incident; `found` is what `found.found_in` took from the report, for machines."""

    incident: str
    labels: Mapping[str, str]
    annotations: Mapping[str, str]
    starts: datetime
    ends: datetime | None = None
    found: Mapping[str, Any] | None = None

    @property
    def name(self) -> str:
        """Return which alert it is, a name of `KINDS`."""
        return self.labels["alertname"]

    @property
    def firing(self) -> bool:
        """Whether it is not over."""
        return self.ends is None

    @property
    def group(self) -> tuple[str, str]:
        """Return service and model: alerts about the same are told together."""
        return self.labels.get("service", ""), self.labels.get("model", "")

    @property
    def verdict(self) -> str:
        """Return the verdict of what was found, empty where nothing was."""
        return str((self.found or {}).get("verdict", ""))

    @property
    def blamed(self) -> tuple[str, ...]:
        """Return the layers that are blamed."""
        return tuple(line["layer"] for line in (self.found or {}).get("layers", ()) if line["blamed"])

    @property
    def state(self) -> tuple[str, ...]:
        """Return what a notification tells: when it changes, there is another one."""
        return "firing" if self.firing else "resolved", self.verdict, *self.blamed

    def ended(self, at: datetime) -> Self:
        """Return it as over since `at`."""
        return replace(self, ends=at)

    def as_dict(self) -> dict[str, Any]:
        """Return it for JSON."""
        return {
            "name": self.name,
            "status": "firing" if self.firing else "resolved",
            "incident": self.incident,
            "labels": dict(self.labels),
            "annotations": dict(self.annotations),
            "starts": rfc3339(self.starts),
            "ends": rfc3339(self.ends) if self.ends else None,
            "found": dict(self.found) if self.found else None,
        }

    def as_json(self) -> str:
        """Return it for the table of reports."""
        return json.dumps(self.as_dict(), ensure_ascii=False)

    @classmethod
    def from_json(cls, text: str) -> Self:
        """Read what `as_json` wrote."""
        body = json.loads(text)
        ends = parse_time(body["ends"]) if body["ends"] else None
        starts = parse_time(body["starts"])
        return cls(body["incident"], body["labels"], body["annotations"], starts, ends, body["found"])


@dataclass(frozen=True, slots=True)
class Change:
    """Something to tell: an alert that is new, reads anew, or has ended."""

    what: str
    alert: Alert
