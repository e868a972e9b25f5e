"""Streams over a real socket: progress of a long question, and what happens now to all who listen."""

import asyncio
import json
import threading
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from typing import Any

import httpx
import pytest

from otel_attrib.analytics.service.app import Ending
from otel_attrib.analytics.service.routes import live
from otel_attrib.analytics.service.tokens import Token, hash_of, read_tokens, write_tokens
from otel_attrib.collector.listener import Listener, bind
from otel_attrib.schema.reports import into_store
from otel_attrib.schema.store import Store

# Not typed: conftest modules cannot be imported.
Api = Any
EVENTS = {"Accept": "text/event-stream"}


class Served:
    """An application on a port of its own, in a thread of its own."""

    def __init__(self, app: Any) -> None:
        """Serve until `stop`."""
        self.app = app
        self._ready, self._socket = threading.Event(), bind("127.0.0.1", 0, "http")
        self.url = f"http://127.0.0.1:{self._socket.getsockname()[1]}"
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()))
        self._thread.start()
        assert self._ready.wait(10)

    async def _serve(self) -> None:
        self._loop, self._ended = asyncio.get_running_loop(), asyncio.Event()
        listener = Listener(self.app, self._socket)
        await listener.start()
        self._ready.set()
        await self._ended.wait()
        await asyncio.to_thread(Ending(self.app).stop, 1.0)
        await listener.stop()

    def stop(self) -> float:
        """End; how long it took."""
        began = time.perf_counter()
        if self._thread.is_alive():
            self._loop.call_soon_threadsafe(self._ended.set)
            self._thread.join()
        return time.perf_counter() - began


@pytest.fixture
def served(make_api: Callable[..., Api], filled: Store, tokens: Any) -> Iterator[Callable[..., Served]]:
    """Serve an application over `filled`."""
    made: list[Served] = []

    def serve(**values: Any) -> Served:
        made.append(Served(make_api(filled, **values).app))
        return made[-1]

    yield serve
    for each in made:
        each.stop()


def heard(response: httpx.Response, most: int, names: tuple[str, ...]) -> list[tuple[str, Any, str]]:
    """Read events until there are `most` of these names."""
    found: list[tuple[str, Any, str]] = []
    fields: dict[str, str] = {}
    for line in response.iter_lines():
        name, _, value = line.partition(": ")
        if line and name:
            fields[name] = value
        elif not line and "event" in fields:
            if fields["event"] in names:
                found.append((fields["event"], json.loads(fields["data"]), fields.get("id", "")))
            fields = {}
        elif not line:
            fields = {}
        if len(found) >= most:
            break
    return found


def test_progress_comes_before_the_answer(served: Any) -> None:
    """/why as events tells its steps in order, then the very body that it gives as JSON."""
    at = f"{datetime.now(UTC):%Y-%m-%dT%H:%M:%SZ}"
    url = f"{served().url}/api/v1/why?window=10m&baseline=before&at={at}"
    with httpx.stream("GET", url, headers=EVENTS, timeout=60) as response:
        told = heard(response, 99, ("progress", "result", "problem"))

    assert "text/event-stream; charset=utf-8" == response.headers["content-type"]
    steps = [(body["done"], body["of"]) for name, body, _ in told if name == "progress"]
    assert steps == sorted(steps) and steps[-1] == (2, 3)
    assert ("result", httpx.get(url, timeout=60).json()) == told[-1][:2]


def test_a_stream_that_fails_ends_in_a_problem(served: Any) -> None:
    """A question that cannot be answered is one `problem` event with the problem that JSON would be."""
    url = f"{served().url}/api/v1/why?trace=nothing"
    with httpx.stream("GET", url, headers=EVENTS, timeout=60) as response:
        told = heard(response, 99, ("progress", "result", "problem"))

    assert [("problem", httpx.get(url).json(), "")] == told


def test_a_quantile_every_step(served: Any) -> None:
    """A listener hears the number of the window that ended last, which is the one of /quantiles."""
    service = served()
    with httpx.stream("GET", f"{service.url}/api/v1/live?by=tenant&step=10s", timeout=60) as response:
        ((_, body, _),) = heard(response, 1, ("quantile",))
    query = f"by=tenant&step=10s&last=30s&at={body['time']}"
    points = httpx.get(f"{service.url}/api/v1/quantiles?{query}", timeout=60).json()["points"]

    assert ["acme", "zen"] == [point["tenant"] for point in body["points"]]
    assert body["points"] == [
        {key: value for key, value in point.items() if key != "end"}
        for point in points
        if point["end"] == body["time"]
    ]


def test_new_reports_are_heard_once_and_resumed(
    served: Any, filled: Store, tokens: Any, report: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A new report reaches its tenant's listeners and no other's, once; who comes back gets those missed."""
    monkeypatch.setattr(live, "ROWS_SECONDS", 0.2)
    service = served(tokens=str(tokens))
    url, keep = f"{service.url}/api/v1/live", into_store(filled)
    headers = {"Authorization": "Bearer acme"}
    with httpx.stream("GET", url, headers=headers, timeout=60) as response:
        heard(response, 1, ("quantile",))  # it listens

    keep(report("zen", "z1"))
    keep(report("acme", "a1"))
    with httpx.stream("GET", url, headers={**headers, "Last-Event-ID": "1-x"}, timeout=60) as response:
        first = heard(response, 2, ("report",))
    keep(report("acme", "a2"))
    number = first[-1][2]
    with httpx.stream("GET", url, headers={**headers, "Last-Event-ID": number}, timeout=60) as response:
        again = heard(response, 1, ("report",))

    assert ["incident-acme", "a1"] == [body["incident"] for _, body, _ in first]
    assert ["a2"] == [body["incident"] for _, body, _ in again]


def test_a_report_while_listening(
    served: Any, filled: Store, report: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two who listen hear a report and a mark that are stored while they do, each once."""
    monkeypatch.setattr(live, "ROWS_SECONDS", 0.2)
    service, found = served(), []

    def listen() -> None:
        with httpx.stream("GET", f"{service.url}/api/v1/live", timeout=60) as response:
            found.append(heard(response, 3, ("quantile", "report", "mark")))

    threads = [threading.Thread(target=listen) for _ in range(2)]
    for thread in threads:
        thread.start()
    while service.app.state.meters.registry.get_sample_value("otel_attrib_api_listeners") != 2:
        time.sleep(0.05)
    time.sleep(0.5)
    into_store(filled)(report("acme", "while"))
    httpx.post(f"{service.url}/api/v1/marks", json={"name": "v7", "kind": "deploy"}).raise_for_status()
    for thread in threads:
        thread.join()

    for told in found:
        assert {"quantile": 1, "report": 1, "mark": 1} == {
            name: sum(name == each[0] for each in told) for name in ("quantile", "report", "mark")
        }
        assert {"while", "v7"} <= {body.get("incident") or body.get("name") for _, body, _ in told}


def test_listeners_are_bounded(served: Any) -> None:
    """One more than api_listeners is 429; a place is free again when one leaves."""
    service = served(api_listeners=1)
    url = f"{service.url}/api/v1/live"
    with httpx.stream("GET", url, timeout=60) as response:
        lines = response.iter_lines()  # kept: a connection is given up with the last who reads it
        next(line for line in lines if line.startswith("event: quantile"))
        refused = httpx.get(url)
    deadline = time.monotonic() + 10
    while service.app.state.hub._listeners and time.monotonic() < deadline:
        time.sleep(0.05)

    assert (429, "30") == (refused.status_code, refused.headers["retry-after"])
    with httpx.stream("GET", url, timeout=60) as response:
        assert 200 == response.status_code
        heard(response, 1, ("quantile",))


@pytest.mark.parametrize("tenants", [None, ("zen",), ("acme", "zen")])
def test_a_token_that_is_removed_ends_its_stream(
    served: Any,
    tokens: Any,
    filled: Store,
    report: Any,
    monkeypatch: pytest.MonkeyPatch,
    tenants: tuple[str, ...] | None,
) -> None:
    """A listener whose token is removed, or is for other tenants now, gets one problem and no more."""
    service = served(tokens=str(tokens))
    monkeypatch.setattr(live, "ROWS_SECONDS", 0.2)
    headers = {"Authorization": "Bearer acme"}
    with httpx.stream("GET", f"{service.url}/api/v1/live?step=10s", headers=headers, timeout=60) as response:
        heard_first = []
        lines = response.iter_lines()
        for line in lines:
            if line.startswith("event: quantile"):
                heard_first.append(line)
                break
        others = [token for token in read_tokens(tokens) if token.name != "acme"]
        changed = [] if tenants is None else [Token("acme", hash_of("acme"), "read", tenants)]
        write_tokens(tokens, [*others, *changed])
        into_store(filled)(report("acme", "after"))
        rest = list(lines)

    assert heard_first
    assert "event: problem" in rest and not any("after" in line for line in rest)


def test_stopping_sends_listeners_away(served: Any) -> None:
    """A service that stops does not wait for those who listen."""
    service = served()
    ended = threading.Event()

    def listen() -> None:
        with httpx.stream("GET", f"{service.url}/api/v1/live", timeout=60) as response:
            for _ in response.iter_lines():
                pass
        ended.set()

    thread = threading.Thread(target=listen)
    thread.start()
    while service.app.state.meters.registry.get_sample_value("otel_attrib_api_listeners") != 1:
        time.sleep(0.05)
    took = service.stop()
    thread.join()

    assert ended.is_set() and took < 5.0


@pytest.mark.parametrize(
    "query", ["step=0s", "step=6m", "step=x", "where=planet%3Dx", "metric=x", "by=model,model"]
)
def test_a_question_that_cannot_be_heard(api: Api, query: str) -> None:
    """A step outside 1s to 5m, or words that no route takes, are 422 before anything streams."""
    assert 422 == api.get(f"/live?{query}").status_code
