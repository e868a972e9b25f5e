"""Which store a command works on."""

import argparse
import json
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from threading import Thread

import pytest

from otel_attrib.errors import StoreError, StoreSchema, UsageError
from otel_attrib.schema import service as service_module
from otel_attrib.schema import store as store_module
from otel_attrib.schema.migrate import migrate
from otel_attrib.schema.service import service_status, store_address
from otel_attrib.schema.store import add_store_arguments, connect

Serve = Callable[[object], str]


@pytest.fixture
def serve() -> Iterator[Serve]:
    """Start a service that says of itself what it is given; returns its address."""
    servers: list[tuple[HTTPServer, Thread]] = []

    def start(answer: object) -> str:
        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                self.send_response(200 if self.path == "/api/v1/status" else 404)
                self.end_headers()
                self.wfile.write(json.dumps(answer).encode())

            def log_message(self, format: str, *args: object) -> None:
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        thread = Thread(target=server.serve_forever)
        thread.start()
        servers.append((server, thread))
        return f"http://127.0.0.1:{server.server_port}"

    yield start
    for server, thread in servers:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Addresses that would be opened, instead of opening them."""
    addresses: list[str] = []
    monkeypatch.setattr(store_module, "open_store", addresses.append)
    return addresses


@pytest.fixture
def no_service(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nobody answers on the default port, whatever runs on this machine."""
    monkeypatch.setattr(store_module, "DEFAULT_URL", "http://127.0.0.1:1")


def test_given(opened: list[str], serve: Serve) -> None:
    """A DSN is opened as it is; a service is asked where its store listens."""
    url = serve({"clickhouse": "http://127.0.0.1:8123", "database": "mine"})

    connect("chdb:///x", None, create=True)
    connect(None, url + "/")

    assert ["chdb:///x", "clickhouse://127.0.0.1:8123/mine"] == opened


def test_both_given() -> None:
    """Two stores are one too many."""
    with pytest.raises(UsageError, match="not both"):
        connect("chdb:///x", "http://127.0.0.1:8080")


def test_environment(opened: list[str], serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """The environment counts where the command line is silent."""
    monkeypatch.setenv("OTEL_ATTRIB_DSN", "chdb:///env")
    connect(None, None, create=True)
    connect("chdb:///line", None, create=True)
    monkeypatch.delenv("OTEL_ATTRIB_DSN")
    monkeypatch.setenv("OTEL_ATTRIB_URL", serve({"clickhouse": "https://far:443"}))
    connect(None, None, create=True)

    assert ["chdb:///env", "chdb:///line", "clickhouses://far:443/otel_attrib"] == opened


def test_default_service_before_default_store(
    opened: list[str], serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A running service is asked; without one the default store is opened."""
    monkeypatch.setattr(store_module, "default_dsn", lambda: "chdb:///default")
    monkeypatch.setattr(store_module, "DEFAULT_URL", "http://127.0.0.1:1")
    connect(None, None, create=True)
    monkeypatch.setattr(store_module, "DEFAULT_URL", serve({"clickhouse": "http://127.0.0.1:8123"}))
    connect(None, None, create=True)

    assert ["chdb:///default", "clickhouse://127.0.0.1:8123/otel_attrib"] == opened


@pytest.mark.usefixtures("no_service")
def test_a_stranger_on_the_default_port(
    opened: list[str], serve: Serve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Something else on our port is not taken for the service."""
    monkeypatch.setattr(store_module, "default_dsn", lambda: "chdb:///default")
    monkeypatch.setattr(store_module, "DEFAULT_URL", serve({"name": "something else"}))

    connect(None, None, create=True)

    assert ["chdb:///default"] == opened


@pytest.mark.parametrize("answer", [[], {}, {"clickhouse": None}, {"clickhouse": "nowhere"}])
def test_not_our_service(serve: Serve, answer: object) -> None:
    """A service that does not name its store is refused, by its address."""
    url = serve(answer)

    with pytest.raises(StoreError, match=url):
        store_address(url)


def test_nobody() -> None:
    """No service is told with what to do; a word that is no address is the user's mistake."""
    with pytest.raises(StoreError, match="no service answers at http://127.0.0.1:1 .*otel-attrib up"):
        service_status("http://127.0.0.1:1")
    with pytest.raises(UsageError, match="http://host:port"):
        service_status("localhost:8080")


def test_a_proxy_is_not_asked(serve: Serve, monkeypatch: pytest.MonkeyPatch) -> None:
    """Settings for the internet do not divert a question to this machine."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")

    assert {"clickhouse": "http://x:1"} == service_status(serve({"clickhouse": "http://x:1"}))


def test_options_are_on_every_parser() -> None:
    """The two options parse, and neither has a default that would hide the environment."""
    parser = argparse.ArgumentParser()
    add_store_arguments(parser)

    assert {"dsn": None, "url": None} == vars(parser.parse_args([]))
    assert "d" == parser.parse_args(["--dsn", "d"]).dsn
    assert service_module.DEFAULT_URL in parser.format_help()


def test_default_store_is_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The store of last resort is opened for real, in a directory made for it."""
    monkeypatch.setattr(store_module, "DEFAULT_URL", "http://127.0.0.1:1")
    monkeypatch.setattr(store_module, "default_dsn", lambda: f"chdb://{tmp_path}/a/b")

    with connect(None, None, create=True) as store:
        assert (True, "otel_attrib") == (store.embedded, store.database)
        assert (tmp_path / "a/b").is_dir()


@pytest.mark.parametrize("made", [False, True], ids=["absent", "empty"])
def test_reading_makes_no_store(tmp_path: Path, made: bool) -> None:
    """A path without a store stays as it is, and what makes one is named."""
    path = tmp_path / "store"
    if made:
        path.mkdir()

    with pytest.raises(StoreError, match=f"no store is at {path}: `otel-attrib migrate --dsn chdb://{path}`"):
        connect(f"chdb://{path}", None)
    assert made == path.exists()
    assert not made or not list(path.iterdir())


def test_a_store_without_tables(tmp_path: Path) -> None:
    """A store that was never migrated is told so before anything is asked of it."""
    dsn = f"chdb://{tmp_path}/store"
    connect(dsn, None, create=True).close()

    with pytest.raises(StoreSchema, match=f"{dsn} has no tables of otel-attrib: run `otel-attrib migrate"):
        connect(dsn, None)
    with connect(dsn, None, create=True) as store:  # the refused one let go of the path
        migrate(store)
    with connect(dsn, None) as store:
        assert [] == store.rows("SELECT time FROM requests")
