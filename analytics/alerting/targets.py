"""Who is told: every Alertmanager and every webhook of the settings."""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from otel_attrib.analytics.alerting.alert import NEW, Alert, Change
from otel_attrib.analytics.alerting.alertmanager import Alertmanager
from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.posting import Address, Answer
from otel_attrib.analytics.alerting.sender import Sender
from otel_attrib.analytics.alerting.webhook import Webhook
from otel_attrib.config import Settings

__all__ = ["Targets"]


@dataclass(frozen=True, slots=True)
class Targets:
    """All of them."""

    alertmanagers: Sequence[Alertmanager]
    webhooks: Sequence[Webhook]

    @classmethod
    def of(cls, settings: Settings, meters: Meters) -> "Targets":
        """Return the targets of the settings."""
        token = settings.alertmanager_token
        return cls(
            [Alertmanager(Address.of(u, "alertmanager", token), meters) for u in settings.alertmanager],
            [Webhook(Address.of(u, "webhooks"), meters, settings.webhook_secret) for u in settings.webhooks],
        )

    def __bool__(self) -> bool:
        """Whether there is anybody to tell."""
        return bool(self.alertmanagers or self.webhooks)

    def start(self) -> None:
        """Begin to send."""
        for target in self._all():
            target.start()

    def stop(self, seconds: float) -> None:
        """Send what can be sent in time."""
        end = time.monotonic() + seconds
        for target in self._all():
            target.stop(max(0.0, end - time.monotonic()))

    def _all(self) -> list[Sender]:
        return [*self.alertmanagers, *self.webhooks]

    def tell(self, changes: Sequence[Change]) -> None:
        """Tell the webhooks of changes that belong together."""
        for webhook in self.webhooks:
            webhook.tell(changes)

    def update(self, alerts: Sequence[Alert]) -> None:
        """Give the Alertmanagers what is firing, and what has ended lately."""
        for alertmanager in self.alertmanagers:
            alertmanager.update(alerts)

    def test(self, alert: Alert) -> list[tuple[str, Answer]]:
        """Send one alert to each at once; return what each answered, in the order of the settings."""
        told: list[tuple[str, Answer]] = [
            (target.name, target.send([alert])) for target in self.alertmanagers
        ]
        return [*told, *((hook.name, hook.send_changes([Change(NEW, alert)])) for hook in self.webhooks)]
