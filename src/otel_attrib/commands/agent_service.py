"""`otel-attrib agent` in the foreground: from the first reading to the last one sent."""

import gc
import logging
import os
import signal
import time
from threading import Event
from typing import TextIO

from otel_attrib.collector.agent.destination import destination
from otel_attrib.collector.agent.node import NodeAgent
from otel_attrib.collector.agent.transport import transport
from otel_attrib.commands.stopping import SIGNALS
from otel_attrib.config import Settings

__all__ = ["log_to", "serve"]

_log = logging.getLogger(__name__)

# `timeout` and some supervisors signal a process and then its group: that is one wish, not two.
_ONE_WISH_S = 0.5


def log_to(stream: TextIO) -> None:
    """Say on `stream` what is not there, what fails and what is lost, each once."""
    form = "%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(level=logging.WARNING, stream=stream, format=form)
    logging.getLogger("otel_attrib").setLevel(logging.INFO)


def serve(settings: Settings, endpoint: str | None) -> int:
    """Read and send until SIGTERM or SIGINT; a second one ends the process at once."""
    to = transport(destination(os.environ, endpoint))
    agent = NodeAgent(settings, to, os.environ)
    stopped = Event()
    asked = 0.0

    def stop(number: int, _: object) -> None:
        nonlocal asked
        if not stopped.is_set():
            asked = time.monotonic()
            stopped.set()
        elif time.monotonic() - asked > _ONE_WISH_S:
            os._exit(128 + number)

    for number in SIGNALS:
        signal.signal(number, stop)
    _log.info("sends to %s every %g s", to.where, settings.agent_send)
    agent.start()
    # What is alive now stays: the collector of cycles need not look at it again.
    gc.freeze()
    stopped.wait()
    agent.stop()
    # From here on nothing is left to be ended, and a second signal must not spoil the exit code.
    for number in SIGNALS:
        signal.signal(number, signal.SIG_IGN)
    counts = agent.export.counts
    _log.info("ended: %d readings sent, %d lost", counts.sent, counts.lost.total())
    return 0
