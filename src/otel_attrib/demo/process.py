"""A child process with its own group and log, which is always ended."""

import ctypes
import json
import os
import signal
import socket
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from otel_attrib.errors import OtelAttribError

__all__ = ["Child", "free_port", "get"]


LIBC = ctypes.CDLL(None)
PR_SET_PDEATHSIG = 1


def _end_with_parent() -> None:
    """Ask the kernel for a SIGTERM when the parent is gone, were it by `kill -9`; runs in the child."""
    LIBC.prctl(PR_SET_PDEATHSIG, signal.SIGTERM)


def free_port() -> int:
    """Return a loopback port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def get(url: str, timeout: float = 2.0) -> bytes:
    """Fetch one loopback URL, past any proxy."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(url, timeout=timeout) as answer:
        body: bytes = answer.read()
        return body


class Child:
    """One program in a process group of its own; its output goes to a file.

    As a context manager it ends the whole group, first politely, whatever happened inside.
    """

    def __init__(
        self,
        command: Sequence[str | os.PathLike[str]],
        log: Path,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Start it."""
        self.log = log
        self.name = Path(command[0]).name
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                command,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                env=environment,
                start_new_session=True,
                preexec_fn=_end_with_parent,
            )

    @property
    def pid(self) -> int:
        """Return the id of the first process of the group."""
        return self.process.pid

    def wait_for_url(self, url: str, seconds: float) -> None:
        """Return when `url` answers with success; complain when the program ends or time is up."""
        self._wait(lambda: _answers(url), seconds, f"{url} did not answer")

    def wait_for_line(self, seconds: float) -> dict[str, Any]:
        """Return the JSON object of the first line that the program prints as one."""
        self._wait(lambda: self._object() is not None, seconds, "it did not say that it is ready")
        return self._object() or {}

    def _object(self) -> dict[str, Any] | None:
        for line in self.log.read_text(errors="replace").splitlines():
            if line.startswith("{"):
                found: dict[str, Any] = json.loads(line)
                return found
        return None

    def _wait(self, ready: Any, seconds: float, complaint: str) -> None:
        end = time.monotonic() + seconds
        while not ready():
            code = self.process.poll()
            if code is not None:
                raise OtelAttribError(f"{self.name} ended with {code} before it was ready{self.last_lines()}")
            if time.monotonic() > end:
                raise OtelAttribError(f"{self.name}: {complaint} within {seconds:.0f} s{self.last_lines()}")
            time.sleep(0.1)

    def last_lines(self, count: int = 5) -> str:
        """Return the end of the log for an error message."""
        lines = [line for line in self.log.read_text(errors="replace").splitlines() if line.strip()]
        return "".join(f"\n    {line[:200]}" for line in [f"(from {self.log})", *lines[-count:]])

    def stop(self, seconds: float = 30.0) -> int:
        """Ask the group to end, make it end after `seconds`; return the exit code."""
        self._signal(signal.SIGTERM, group=False)
        try:
            code = self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            code = -signal.SIGKILL
        # A server that ended by itself may have left workers behind.
        self._signal(signal.SIGKILL, group=True)
        self.process.wait()
        return code

    def _signal(self, number: signal.Signals, group: bool) -> None:
        try:
            if group:
                os.killpg(self.pid, number)
            elif self.process.poll() is None:
                self.process.send_signal(number)
        except ProcessLookupError:
            pass

    def __enter__(self) -> Self:
        """Return the running child."""
        return self

    def __exit__(
        self, kind: type[BaseException] | None, fault: BaseException | None, trace: TracebackType | None
    ) -> None:
        """End it."""
        self.stop()


def _answers(url: str) -> bool:
    try:
        get(url)
    except (OSError, urllib.error.URLError):
        return False
    return True
