"""Webhooks: each change once and in order, signed, tried again, bounded; nobody waits for them."""

import hashlib
import hmac
import json
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

from otel_attrib.analytics.alerting import webhook as module
from otel_attrib.analytics.alerting.alert import NEW, Alert, Change
from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.posting import Address
from otel_attrib.analytics.alerting.webhook import SCHEMA, Webhook, body_of
from otel_attrib.errors import UsageError

# Not typed: conftest modules cannot be imported.
Hooks = Callable[..., Any]
NOON = datetime(2026, 5, 1, 12, tzinfo=UTC)


def change(number: int) -> Change:
    """A new alert with a number in its name."""
    labels = {"alertname": "LatencyRegression", "service": "chat", "incident": f"i{number}"}
    return Change(NEW, Alert(f"i{number}", labels, {"summary": f"number {number}"}, NOON))


def sent(meters: Meters) -> dict[str, float]:
    """How many notifications came to which outcome."""
    return {
        sample.labels["outcome"]: sample.value
        for family in meters.registry.collect()
        for sample in family.samples
        if sample.name == "otel_attrib_alert_notifications_total"
    }


def test_in_order(hook: Hooks) -> None:
    """Twenty changes arrive once each, in the order in which they happened."""
    receiver, meters = hook(), Meters()
    target = Webhook(Address.of(receiver.url, "webhooks"), meters)
    target.start()

    for number in range(20):
        target.tell([change(number)])

    receiver.wait_for(lambda got: len(got) == 20)
    target.stop(5)
    assert [f"i{number}" for number in range(20)] == [body["alerts"][0]["incident"] for body in receiver.got]
    assert {"taken": 20.0} == sent(meters)


def test_body(hook: Hooks) -> None:
    """The body says its schema, whether anything fires, whom it is about, and the whole alert."""
    receiver = hook()
    target = Webhook(Address.of(receiver.url, "webhooks"), Meters())

    assert target.send_changes([change(1)]).taken

    (body,) = receiver.got
    assert (SCHEMA, "firing", {"service": "chat", "model": ""}) == (
        body["schema"],
        body["status"],
        body["group"],
    )
    assert [{"change": "new", **change(1).alert.as_dict()}] == body["alerts"]


def test_signature(hook: Hooks) -> None:
    """With a secret the receiver can check that a body, and its time, come from who knows the secret."""
    receiver = hook()
    target = Webhook(Address.of(receiver.url, "webhooks"), Meters(), secret="s3cret")

    target.send_changes([change(1)])

    ((headers, body),) = receiver.raw
    stamp = headers["X-Otel-Attrib-Timestamp"]
    expected = hmac.new(b"s3cret", stamp.encode() + b"." + body, hashlib.sha256).hexdigest()
    assert f"sha256={expected}" == headers["X-Otel-Attrib-Signature"]
    assert abs(int(stamp) - time.time()) < 5


def test_tried_again(hook: Hooks) -> None:
    """What fails for now is tried again, with longer waits, as the same body with the same id."""
    receiver, meters = hook(503, 503, 429), Meters()
    target = Webhook(Address.of(receiver.url, "webhooks"), meters, first_wait_s=0.1)
    target.start()

    target.tell([change(1)])

    receiver.wait_for(lambda got: got)
    target.stop(5)
    waits = [later - sooner for sooner, later in zip(receiver.times, receiver.times[1:], strict=False)]
    assert 1 == len({body for _, body in receiver.raw})
    assert all(wait >= least for wait, least in zip(waits, (0.1, 0.2, 0.4), strict=True))
    assert {"failed": 3.0, "taken": 1.0} == sent(meters)


def test_refused_is_not_tried_again(hook: Hooks) -> None:
    """A receiver that says 400 gets the next change, not the same one again."""
    receiver, meters = hook(400), Meters()
    target = Webhook(Address.of(receiver.url, "webhooks"), meters)
    target.start()

    target.tell([change(1)])
    target.tell([change(2)])

    receiver.wait_for(lambda got: got)
    target.stop(5)
    assert ["i2"] == [body["alerts"][0]["incident"] for body in receiver.got]
    assert {"refused": 1.0, "taken": 1.0} == sent(meters)


def test_nobody_listens() -> None:
    """Telling is over at once although nobody is there; what does not fit into the queue is counted."""
    meters = Meters()
    target = Webhook(Address.of("http://127.0.0.1:9/hook", "webhooks"), meters, first_wait_s=60)
    target.start()
    started = time.monotonic()

    for number in range(module.QUEUE + 5):
        target.tell([change(number)])

    assert time.monotonic() - started < 5
    assert 5 <= sent(meters)["dropped"] <= 6
    target.stop(1)
    assert time.monotonic() - started < 10


def test_same_change_same_id() -> None:
    """A body's id is that of what it tells, whenever it is told."""
    first, again, other = (body_of([change(n)], at)["id"] for n, at in ((1, 1e9), (1, 2e9), (2, 1e9)))

    assert first == again != other


def test_secrets_are_not_shown(hook: Hooks) -> None:
    """User and password become a header; what is shown is scheme, host and port."""
    receiver = hook()
    url = receiver.url.replace("http://", "http://me:p%40ss@").replace("/hook", "/services/T0/secret")
    address = Address.of(url, "webhooks")

    address.post(address.url, json.dumps({}).encode())

    ((headers, _),) = receiver.raw
    assert "Basic bWU6cEBzcw==" == headers["Authorization"]
    assert address.shown in receiver.url
    assert not {"pass", "secret", "me"} & set(address.shown.replace("/", ":").split(":"))


@pytest.mark.parametrize("url", ["ftp://host/x", "host:9093", "http://", "file:///etc/passwd"])
def test_addresses_that_are_none(url: str) -> None:
    """An address that nobody can post to is told with the setting, not with its secrets."""
    with pytest.raises(UsageError, match="setting webhooks"):
        Address.of(url, "webhooks")


@pytest.mark.parametrize("status", [301, 302, 303, 307, 308])
def test_a_redirection_is_not_taken(status: int) -> None:
    """A receiver that moved has not got the alert, and neither it nor the secret goes elsewhere."""
    asked: list[tuple[str, str | None]] = []

    class Moved(BaseHTTPRequestHandler):
        """A fake receiver: says that it moved, and takes whatever comes to the other place."""

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            self._answer()

        def do_GET(self) -> None:
            self._answer()

        def _answer(self) -> None:
            asked.append((self.path, self.headers["Authorization"]))
            self.send_response(status if self.path == "/hook" else 200)
            self.send_header("Location", "https://u:p@elsewhere.test/secret" if not asked[1:] else "/x")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Moved)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    target = Webhook(Address.of(f"http://u:p@127.0.0.1:{server.server_port}/hook", "webhooks"), Meters())
    answers = [target.send_changes([change(1)]) for _ in range(2)]
    server.shutdown()
    server.server_close()
    thread.join()

    assert [False, False] == [answer.taken for answer in answers]
    assert ["/hook", "/hook"] == [path for path, _ in asked]
    assert f"{status} is redirected to https://elsewhere.test: set that" == str(answers[0])
