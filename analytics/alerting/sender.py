"""What every target has: an address, and a thread of its own that sends, so that nobody waits for it."""

import threading
from abc import ABC, abstractmethod

from otel_attrib.analytics.alerting.meters import Meters
from otel_attrib.analytics.alerting.posting import Address

__all__ = ["Sender"]


class Sender(ABC):
    """One address; `_run` sends until `_ending`, and is woken by `_changed`."""

    def __init__(self, kind: str, address: Address, meters: Meters) -> None:
        """Prepare; `kind` names the thread."""
        self.name = address.shown
        self._address = address
        self._meters = meters
        self._changed = threading.Condition()
        self._ending = False
        self._thread = threading.Thread(target=self._run, name=f"{kind} {self.name}", daemon=True)

    def start(self) -> None:
        """Begin to send."""
        self._thread.start()

    def stop(self, seconds: float) -> None:
        """Try once more to send what waits, if it can be done in time, and end."""
        with self._changed:
            self._ending = True
            self._changed.notify()
        if self._thread.is_alive():
            self._thread.join(seconds)

    @abstractmethod
    def _run(self) -> None:
        """Send until `_ending`."""
