"""A private `otel-attrib up` on free ports, and the questions the demonstration asks it."""

import json
import subprocess
import sys
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Self

from otel_attrib.demo.environment import clean_environment
from otel_attrib.demo.process import Child, get
from otel_attrib.errors import OtelAttribError

__all__ = ["Answer", "Service"]

OURS = (sys.executable, "-m", "otel_attrib")
START_SECONDS = 60.0


class Answer:
    """What one command said: the text for people, the JSON, and the exit code."""

    def __init__(self, command: str, text: str, body: dict[str, Any], code: int) -> None:
        """Keep it."""
        self.command = command
        self.text = text
        self.body = body
        self.code = code


class Service:
    """`otel-attrib up` with its store in `folder`; a context manager that stops it."""

    def __init__(self, folder: Path, *options: str) -> None:
        """Start it with further options of `up`, and wait until it serves."""
        folder.mkdir(parents=True, exist_ok=True)
        self.store = folder / "store"
        ports = [f"--{name}-port=0" for name in ("otlp-grpc", "otlp-http", "clickhouse", "http")]
        command = [*OURS, "up", f"--dsn=chdb://{self.store}", *ports, *options, "--json"]
        self.child = Child(command, folder / "up.log", clean_environment())
        try:
            self.ready = self.child.wait_for_line(START_SECONDS)
        except BaseException:
            self.child.stop()
            raise

    @property
    def url(self) -> str:
        """Return the base URL that the other commands take as `--url`."""
        return self._url("http")

    @property
    def otlp_grpc(self) -> str:
        """Return the endpoint for OTLP over gRPC."""
        return self._url("otlp_grpc")

    @property
    def otlp_http(self) -> str:
        """Return the endpoint for OTLP over HTTP."""
        return self._url("otlp_http")

    def _url(self, name: str) -> str:
        """Return a listener's URL, whether `up` says a URL, host:port or a port."""
        said = str(self.ready[name])
        if said.startswith("http"):
            return said
        return f"http://{said}" if ":" in said else f"http://127.0.0.1:{said}"

    def post(self, path: str, body: bytes) -> None:
        """Send one OTLP/HTTP protobuf body."""
        headers = {"Content-Type": "application/x-protobuf"}
        request = urllib.request.Request(f"{self.otlp_http}{path}", body, headers, method="POST")
        opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
        with opener.open(request, timeout=60):
            pass

    def rows(self, sql: str, **parameters: object) -> list[dict[str, Any]]:
        """Run one SELECT over the ClickHouse endpoint."""
        asked = {"query": f"{sql} FORMAT JSONEachRow", "database": "otel_attrib"}
        # 64-bit integers as numbers: some settings of JSON output would quote them.
        asked |= {"output_format_json_quote_64bit_integers": "0"}
        asked |= {f"param_{name}": str(value) for name, value in parameters.items()}
        try:
            body = get(f"{self._url('clickhouse')}/?{urllib.parse.urlencode(asked)}", timeout=60)
        except urllib.error.HTTPError as refused:
            raise OtelAttribError(f"the store refused a question: {refused.read()[:300]!r}") from refused
        return [json.loads(line) for line in body.splitlines()]

    def wait_for_requests(self, count: int, seconds: float) -> int:
        """Return the number of request rows once it is at least `count`, or after `seconds`."""
        end = time.monotonic() + seconds
        while (found := self.rows("SELECT count() AS n FROM requests")[0]["n"]) < count:
            if time.monotonic() > end:
                break
            time.sleep(0.2)
        return int(found)

    def ask(self, words: Sequence[str], good: Callable[[int], bool]) -> Answer:
        """Run one of our commands against this service, for people and as JSON."""
        with ThreadPoolExecutor() as asking:
            text, body = asking.map(lambda more: self._run([*words, *more], good), ((), ("--json",)))
        shown = f"otel-attrib {' '.join(words)}"
        return Answer(shown, text.stdout, json.loads(body.stdout), body.returncode)

    def _run(self, words: Sequence[str], good: Callable[[int], bool]) -> "subprocess.CompletedProcess[str]":
        command = [*OURS, *words, "--url", self.url]
        done = subprocess.run(command, capture_output=True, text=True, env=clean_environment())
        if not good(done.returncode):
            raise OtelAttribError(f"`otel-attrib {words[0]}` failed: {done.stderr.strip()}")
        return done

    def __enter__(self) -> Self:
        """Return the running service."""
        return self

    def __exit__(self, *fault: object) -> None:
        """Stop it."""
        self.child.stop()
