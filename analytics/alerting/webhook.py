"""Changes to webhooks: JSON (schema `otel-attrib/alert/1`), each change once, in order, tried again for a
while.

With a secret each request carries `X-Otel-Attrib-Timestamp` and `X-Otel-Attrib-Signature`: `sha256=` and
the hex HMAC-SHA256 of the timestamp, a full stop and the body. A body's `id` is the same in every try, so
a receiver can tell a repetition. The queue is bounded: when it is full the oldest goes, counted, because
the newest says how things stand.
"""

import hashlib
import hmac
import time
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from otel_attrib.analytics.alerting.alert import Change
from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.posting import Address, Answer, as_body
from otel_attrib.analytics.alerting.sender import Sender
from otel_attrib.analytics.windows import rfc3339

__all__ = ["SCHEMA", "Webhook", "body_of", "signature"]

SCHEMA = "otel-attrib/alert/1"
QUEUE = 1000
TRIES = 10
FIRST_WAIT_S, LONGEST_WAIT_S = 1.0, 60.0
"""Ten tries are about six minutes."""


@dataclass(slots=True)
class _Waiting:
    body: bytes
    tries: int = 0


class Webhook(Sender):
    """One address; `tell` never waits, a thread of its own sends."""

    def __init__(
        self,
        address: Address,
        meters: Meters,
        secret: str = "",
        first_wait_s: float = FIRST_WAIT_S,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """Prepare."""
        super().__init__("webhook", address, meters)
        self._secret = secret
        self._first_wait_s = first_wait_s
        self._clock = clock
        self._queue: deque[_Waiting] = deque()

    def tell(self, changes: Sequence[Change]) -> None:
        """Queue one body with these changes, which belong together."""
        with self._changed:
            if len(self._queue) >= QUEUE:
                self._queue.popleft()
                self._meters.sent.labels(self.name, "dropped").inc()
            self._queue.append(_Waiting(as_body(body_of(changes, self._clock()))))
            self._meters.waiting.labels(self.name).set(len(self._queue))
            self._changed.notify()

    def send(self, body: bytes) -> Answer:
        """Post one body at once and return what was answered."""
        return self._address.post(self._address.url, body, self._signed(body))

    def send_changes(self, changes: Sequence[Change]) -> Answer:
        """Post changes at once, past the queue."""
        return self.send(as_body(body_of(changes, self._clock())))

    def _signed(self, body: bytes) -> dict[str, str]:
        if not self._secret:
            return {}
        stamp = str(int(self._clock()))
        return {
            "X-Otel-Attrib-Timestamp": stamp,
            "X-Otel-Attrib-Signature": signature(self._secret, stamp, body),
        }

    def _run(self) -> None:
        wait_s = 0.0
        while True:
            with self._changed:
                self._changed.wait_for(lambda: self._ending, wait_s)
                self._changed.wait_for(lambda: self._queue or self._ending)
                if not self._queue:
                    return
                first, ending = self._queue[0], self._ending
            done = self._try(first)
            if ending and not done:
                return
            wait_s = 0.0 if done else min(self._first_wait_s * 2 ** (first.tries - 1), LONGEST_WAIT_S)

    def _try(self, first: _Waiting) -> bool:
        """Send the oldest; return whether it is settled, one way or the other."""
        answer = self.send(first.body)
        first.tries += 1
        settled = answer.taken or not answer.worth_another_try or first.tries >= TRIES
        outcome = "taken" if answer.taken else "refused" if settled else "failed"
        self._meters.sent.labels(self.name, outcome).inc()
        with self._changed:
            if settled and self._queue and self._queue[0] is first:
                self._queue.popleft()
            self._meters.waiting.labels(self.name).set(len(self._queue))
        return settled


def body_of(changes: Sequence[Change], at: float) -> dict[str, Any]:
    """Return the body: the changes of one service and model, found in the same look."""
    alerts = [{"change": change.what, **change.alert.as_dict()} for change in changes]
    service, model = changes[0].alert.group
    told = as_body(alerts)
    return {
        "schema": SCHEMA,
        "id": hashlib.sha256(told).hexdigest()[:32],
        "time": rfc3339(datetime.fromtimestamp(at, UTC)),
        "status": "firing" if any(change.alert.firing for change in changes) else "resolved",
        "group": {"service": service, "model": model},
        "alerts": alerts,
    }


def signature(secret: str, stamp: str, body: bytes) -> str:
    """Return the value of X-Otel-Attrib-Signature."""
    return f"sha256={hmac.new(secret.encode(), f'{stamp}.'.encode() + body, hashlib.sha256).hexdigest()}"
