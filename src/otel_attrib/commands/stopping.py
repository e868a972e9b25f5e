"""A command that is there to be stopped ends with 0 from its first moment on, not only once its loop runs."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

__all__ = ["SIGNALS", "ends_at_once", "raises"]

SIGNALS = (signal.SIGINT, signal.SIGTERM)


@contextmanager
def ends_at_once() -> Iterator[None]:
    """Inside, Ctrl-C and SIGTERM end the process with 0 there and then: nothing is begun that must be ended.

    Exceptions would do it later or not at all, for what is imported and opened meanwhile may take them for
    its own. Outside the main thread, which signals never interrupt, it changes nothing.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    with _handled_by(_end):
        yield


@contextmanager
def raises() -> Iterator[None]:
    """Inside, both raise KeyboardInterrupt, so that what runs is ended in order."""
    with _handled_by(_raise):
        yield


@contextmanager
def _handled_by(own: Callable[..., None]) -> Iterator[None]:
    before = {number: signal.signal(number, own) for number in SIGNALS}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _end(*_: object) -> None:
    os._exit(0)


def _raise(*_: object) -> None:
    raise KeyboardInterrupt
