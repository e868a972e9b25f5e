"""The evaluator beside the service: no look kills it, it says how it is, and ends when told."""

import logging
import time
from collections.abc import Callable
from typing import Any

import pytest

from otel_attrib.analytics.alerting import Evaluator, wanted
from otel_attrib.analytics.alerting.making import Maker
from otel_attrib.config import load
from otel_attrib.errors import StoreError
from otel_attrib.schema.store import Store


def value(evaluator: Evaluator, name: str, **labels: str) -> float:
    """One sample of what it shows."""
    return sum(
        sample.value
        for family in evaluator.collect()
        for sample in family.samples
        if sample.name == name and labels.items() <= sample.labels.items()
    )


def wait_for(what: Callable[[], Any], seconds: float = 15) -> None:
    """Until something is so."""
    end = time.monotonic() + seconds
    while not what() and time.monotonic() < end:
        time.sleep(0.02)
    assert what()


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, False),
        ({"webhooks": "http://127.0.0.1:9"}, True),
        ({"alertmanager": "http://127.0.0.1:9"}, True),
        ({"alerts": "on"}, True),
        ({"alerts": "off", "webhooks": "http://127.0.0.1:9"}, False),
    ],
)
def test_when_up_looks(settings: dict[str, str], expected: bool) -> None:
    """`up` looks when there is somebody to tell, or when told to, and never when told not to."""
    assert expected == wanted(load({}, **settings))


def test_looks_go_on_after_a_failure(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    """A store that is away is said once, and counted each time; once it is back the looks work."""
    away = [True]

    def stores() -> Store:
        if away[0]:
            raise StoreError("the store is away")
        return store

    evaluator = Evaluator(load({}, alerts="on", alert_interval="100ms"), stores, "http://page")
    with caplog.at_level(logging.WARNING):
        evaluator.start()
        wait_for(lambda: value(evaluator, "otel_attrib_alert_looks_total", outcome="failed") >= 3)
        away[0] = False
        wait_for(lambda: value(evaluator, "otel_attrib_alert_looks_total", outcome="ok") >= 2)
        started = time.monotonic()
        evaluator.stop(3.0)

    assert time.monotonic() - started < 5
    assert 1 == sum("the store is away" in record.message for record in caplog.records)
    assert time.time() - value(evaluator, "otel_attrib_alert_last_look_timestamp_seconds") < 30


def test_off_is_off(store: Store) -> None:
    """With nobody to tell nothing is looked at, and ending is over at once."""
    evaluator = Evaluator(load({}), lambda: pytest.fail("asked"), "")
    evaluator.start()
    evaluator.stop(1.0)

    assert 0 == value(evaluator, "otel_attrib_alert_looks_total")


def test_nobody_waits_for_a_receiver(store: Store, hook: Any) -> None:
    """A receiver that does not answer holds up no look; what waits for it is counted."""
    evaluator = Evaluator(
        load({}, alerts="on", alert_interval="100ms", webhooks="http://127.0.0.1:9/x"), lambda: store, ""
    )
    evaluator.start()
    evaluator.active.put(Maker(evaluator.maker.links).test(evaluator_time()))

    wait_for(lambda: value(evaluator, "otel_attrib_alert_notifications_waiting") == 1)
    looks = value(evaluator, "otel_attrib_alert_looks_total", outcome="ok")
    wait_for(lambda: value(evaluator, "otel_attrib_alert_looks_total", outcome="ok") >= looks + 3)
    evaluator.stop(2.0)

    assert 1 == value(evaluator, "otel_attrib_incident", alertname="OtelAttribTest")


def evaluator_time() -> Any:
    """Now, in UTC."""
    from datetime import UTC, datetime

    return datetime.now(UTC)
