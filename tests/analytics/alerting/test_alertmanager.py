"""Alertmanager as its package has it: what it takes, repeats, resolves, and gets through once it is back."""

import json
import subprocess
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any
from urllib.request import Request, urlopen

from otel_attrib.analytics.alerting.alert import Alert
from otel_attrib.analytics.alerting.alertmanager import Alertmanager
from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.posting import Address

Start = Callable[..., tuple[str, "subprocess.Popen[bytes]"]]


def alert(summary: str = "slow", **labels: str) -> Alert:
    """An alert that began a minute ago."""
    named = {"alertname": "LatencyRegression", "service": "chat", "model": "m", "incident": "i1", **labels}
    return Alert(named["incident"], named, {"summary": summary}, datetime.now(UTC) - timedelta(minutes=1))


def held(url: str) -> list[dict[str, Any]]:
    """What Alertmanager holds as active."""
    with urlopen(f"{url}/api/v2/alerts", timeout=5) as answer:
        found: list[dict[str, Any]] = json.load(answer)
    return found


def test_taken_and_resolved(hook: Any, alertmanager: Start) -> None:
    """An alert reaches the receiver with its words, and its end reaches it too."""
    receiver = hook()
    url, _ = alertmanager(receiver.url)
    target = Alertmanager(Address.of(url, "alertmanager"), Meters())
    target.start()
    firing = alert("P99 TTFT rose")

    target.update([firing])
    body = receiver.wait_for(lambda got: next((b for b in got if b["status"] == "firing"), None))
    target.update([firing.ended(datetime.now(UTC))])
    receiver.wait_for(lambda got: next((b for b in got if b["status"] == "resolved"), None))
    target.stop(5)

    assert "P99 TTFT rose" == body["alerts"][0]["annotations"]["summary"]
    assert {"service": "chat", "model": "m"} == body["groupLabels"]


def test_one_incident_is_one_alert(hook: Any, alertmanager: Start) -> None:
    """Other words are the same alert: its labels, and so its fingerprint, stay."""
    receiver = hook()
    url, _ = alertmanager(receiver.url)
    target = Alertmanager(Address.of(url, "alertmanager"), Meters())

    answers = [target.send([alert(text)]) for text in ("INSUFFICIENT", "CAUSE")]

    assert [200, 200] == [answer.status for answer in answers]
    (found,) = held(url)
    assert "CAUSE" == found["annotations"]["summary"]


def test_told_again_before_it_is_forgotten(hook: Any, alertmanager: Start) -> None:
    """The end that Alertmanager assumes moves on with every round, ahead of now."""
    receiver = hook()
    url, _ = alertmanager(receiver.url)
    target = Alertmanager(Address.of(url, "alertmanager"), Meters(), round_s=0.3)
    target.start()
    target.update([alert()])
    receiver.wait_for(lambda got: got)

    ends = []
    for _ in range(2):
        ends.append(datetime.fromisoformat(held(url)[0]["endsAt"]))
        time.sleep(0.8)
    still = held(url)
    target.stop(5)

    assert ends[0] < ends[1]
    assert 1 == len(still)


def test_every_one_is_told(hook: Any, alertmanager: Start) -> None:
    """Of two Alertmanagers each is told, though the first is down."""
    receiver = hook()
    url, _ = alertmanager(receiver.url)
    down, up = (Alertmanager(Address.of(u, "alertmanager"), Meters()) for u in ("http://127.0.0.1:9", url))
    for target in (down, up):
        target.start()
        target.update([alert()])

    receiver.wait_for(lambda got: got)
    for target in (down, up):
        target.stop(2)


def test_silences_of_its_own(hook: Any, alertmanager: Start) -> None:
    """What Alertmanager silences it holds back itself: it is told all the same."""
    receiver = hook()
    url, _ = alertmanager(receiver.url)
    now = datetime.now(UTC)
    silence = {
        "matchers": [{"name": "service", "value": "chat", "isRegex": False, "isEqual": True}],
        "startsAt": now.isoformat(),
        "endsAt": (now + timedelta(hours=1)).isoformat(),
        "createdBy": "test",
        "comment": "test",
    }
    request = Request(
        f"{url}/api/v2/silences", json.dumps(silence).encode(), {"Content-Type": "application/json"}
    )
    with urlopen(request, timeout=5):
        pass

    other = alert(service="other", incident="i2")
    Alertmanager(Address.of(url, "alertmanager"), Meters()).send([alert(), other])

    receiver.wait_for(lambda got: got)
    told = {one["labels"]["service"] for body in receiver.got for one in body["alerts"]}
    assert {"other"} == told
    assert {"chat", "other"} == {one["labels"]["service"] for one in held(url)}
