"""The path from a fault to whoever is paged: real Alertmanager, real `otel-attrib up`, a fleet in real time.

The fleet is simulated and tells its spans and counters second by second over OTLP; all else is what a site
runs. Each part is a process of its own on free ports and ends with its context.
"""

import json
import re
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from otel_attrib.analytics.wording import layer_title
from otel_attrib.demo.environment import clean_environment
from otel_attrib.demo.process import Child, free_port
from otel_attrib.demo.service import OURS

__all__ = [
    "ALERTMANAGER",
    "Notice",
    "Receiver",
    "Stream",
    "alertmanager",
    "as_dict",
    "receiving",
    "streaming",
    "up",
]

ALERTMANAGER = Path(__file__).parents[1] / "build/services/usr/bin/prometheus-alertmanager"
NAMING = ("CAUSE", "CAUSE_SET")
"""The verdicts that name layers."""

CONFIG = """\
route: {{receiver: hook, group_by: [service, model], group_wait: 1s, group_interval: 5s, repeat_interval: 1h}}
receivers: [{{name: hook, webhook_configs: [{{url: "{url}", send_resolved: true}}]}}]
"""


@dataclass(frozen=True, slots=True)
class Notice:
    """One alert in one notification of Alertmanager, and when it came (seconds since 1970)."""

    time: float
    status: str
    labels: dict[str, str]
    annotations: dict[str, str]

    @property
    def verdict(self) -> str:
        """Return the verdict's word."""
        return self.annotations.get("verdict", "").partition(":")[0]

    def names(self, layer: str) -> bool:
        """Return whether it blames this layer, before any other."""
        first = self.annotations.get("layers", "").partition(" +")[0]
        return self.verdict in NAMING and first == layer_title(layer)

    @property
    def names_any(self) -> bool:
        """Return whether it blames a layer at all."""
        return self.verdict in NAMING


@dataclass(slots=True)
class Receiver:
    """A webhook receiver: keeps every alert that Alertmanager notifies it of."""

    url: str
    notices: list[Notice] = field(default_factory=list)

    def wait_for(self, wanted: Callable[[Notice], bool], seconds: float) -> Notice | None:
        """Return the first notice that is wanted, or None when the time is up."""
        end = time.monotonic() + seconds
        while True:
            for notice in list(self.notices):
                if wanted(notice):
                    return notice
            if time.monotonic() > end:
                return None
            time.sleep(0.05)


@contextmanager
def receiving() -> Iterator[Receiver]:
    """Listen on a free port."""
    receiver = Receiver("")

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            now = time.time()
            receiver.notices += [
                Notice(now, one["status"], one["labels"], one["annotations"]) for one in body["alerts"]
            ]
            self.send_response(200)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    receiver.url = f"http://127.0.0.1:{server.server_address[1]}/hook"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield receiver
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@contextmanager
def alertmanager(folder: Path, hook: str, program: Path = ALERTMANAGER) -> Iterator[str]:
    """Run Alertmanager, which notifies `hook`; yields its address."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.yml").write_text(CONFIG.format(url=hook))
    url = f"http://127.0.0.1:{free_port()}"
    words = [str(program), f"--config.file={folder}/config.yml", f"--storage.path={folder}/data"]
    words += [f"--web.listen-address={url.removeprefix('http://')}", "--cluster.listen-address="]
    with Child(words, folder / "log") as child:
        child.wait_for_url(f"{url}/-/ready", 30)
        yield url


@contextmanager
def up(folder: Path, **settings: str) -> Iterator[dict[str, str]]:
    """Run `otel-attrib up` with its store in `folder`; yields its addresses."""
    folder.mkdir(parents=True, exist_ok=True)
    ports = [f"--{name}-port=0" for name in ("otlp-grpc", "otlp-http", "clickhouse", "http")]
    words = [*OURS, *"up --no-agent --json".split(), f"--dsn=chdb://{folder}/store", *ports]
    named = {f"OTEL_ATTRIB_{name.upper()}": value for name, value in settings.items()}
    with Child(words, folder / "up.log", clean_environment() | named) as child:
        yield child.wait_for_line(60)


@dataclass(frozen=True, slots=True)
class Stream:
    """A fleet that runs in real time."""

    child: Child
    began: datetime
    length_s: float

    def moment(self, share: float) -> float:
        """Return when this share of the current window has passed, in seconds since 1970."""
        return self.began.timestamp() + share * self.length_s

    def wait(self) -> None:
        """Wait until its window is over and everything is sent."""
        self.child.process.wait(self.length_s + 60)


BEGINS = re.compile(r"the window begins at (\d\d:\d\d:\d\d) UTC and lasts (\d+) s")


@contextmanager
def streaming(folder: Path, url: str, words: Sequence[str]) -> Iterator[Stream]:
    """Run `otel-attrib simulate … --live`; yields once its current window has begun."""
    command = [*OURS, "simulate", *words, "--live", "--url", url]
    with Child(command, folder / "simulate.log", clean_environment()) as child:
        yield Stream(child, *_begun(child))


def _begun(child: Child, seconds: float = 180) -> tuple[datetime, float]:
    end = time.monotonic() + seconds
    while not (found := BEGINS.search(child.log.read_text())):
        if child.process.poll() is not None or time.monotonic() > end:
            raise RuntimeError(f"the fleet did not begin{child.last_lines()}")
        time.sleep(0.05)
    now = datetime.now(UTC)
    at = datetime.strptime(found[1], "%H:%M:%S").replace(now.year, now.month, now.day, tzinfo=UTC)
    # The time of day alone is printed; around midnight it is another day's.
    days = round((now - at) / timedelta(days=1))
    return at + timedelta(days=days), float(found[2])


def as_dict(notice: Notice) -> dict[str, Any]:
    """Return what a notice said, for a report."""
    kept = ("summary", "verdict", "layers", "report_url")
    return {"time": notice.time, **{name: notice.annotations.get(name, "") for name in kept}}
