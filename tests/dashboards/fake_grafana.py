"""A FAKE Grafana for tests: it keeps state and follows the HTTP API's documentation, and is nothing more.

Grafana itself is in no package index that these tests may use. What is here was written from the pages
"HTTP API" of Grafana's documentation (health, folder, dashboard, data source, authentication): versions
and 412, folders and 404, provisioned dashboards that refuse to be saved, data sources whose secrets cannot
be read back, 401 without a token and 403 for a viewer. It adds ids, versions and defaults to what it is
given, as the real one does.
"""

import base64
import json
import re
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Answer = tuple[int, Any]


@dataclass
class FakeGrafana:
    """The state of a FAKE Grafana; tests look into it and change it behind the client's back."""

    version: str = "12.1.0"
    tokens: dict[str, str] = field(default_factory=lambda: {"glsa_editor": "Editor", "glsa_admin": "Admin"})
    users: dict[str, str] = field(default_factory=lambda: {"admin:secret": "Admin"})
    folders: dict[str, dict[str, Any]] = field(default_factory=dict)
    boards: dict[str, dict[str, Any]] = field(default_factory=dict)
    sources: dict[str, dict[str, Any]] = field(default_factory=dict)
    secrets: dict[str, dict[str, str]] = field(default_factory=dict)
    writes: list[str] = field(default_factory=list)
    seen: list[str] = field(default_factory=list)
    url: str = ""
    talks_nonsense: bool = False

    def answer(self, method: str, path: str, body: Any, credentials: str) -> Answer:
        """Answer one request as the documentation says."""
        self.seen.append(f"{method} {path}")
        if self.talks_nonsense:
            return 200, ["no grafana"]
        role = self._role(credentials)
        if role is None:
            return 401, {"message": "Invalid API key"}
        for pattern, needed, handle in self._routes():
            found = re.fullmatch(pattern, f"{method} {path}")
            if found:
                if needed == "Editor" and role == "Viewer" or needed == "Admin" and role != "Admin":
                    return 403, {"message": f"You'll need additional permissions. Role: {role}"}
                return handle(body, *found.groups())
        return 404, {"message": "Not found"}

    def add_board(self, board: dict[str, Any], folder: str = "", provisioned: bool = False) -> None:
        """Put a dashboard there without the API."""
        kept = {"id": len(self.boards) + 1, "version": 1, **board}
        self.boards[board["uid"]] = {"dashboard": kept, "folder": folder, "provisioned": provisioned}

    def _role(self, credentials: str) -> str | None:
        kind, _, secret = credentials.partition(" ")
        if kind == "Bearer":
            return self.tokens.get(secret)
        if kind == "Basic":
            return self.users.get(base64.b64decode(secret).decode())
        return None

    def _routes(self) -> list[tuple[str, str, Callable[..., Answer]]]:
        return [
            (r"GET /api/frontend/settings", "Viewer", self._settings),
            (r"GET /api/folders/([\w-]+)", "Viewer", self._folder),
            (r"POST /api/folders", "Editor", self._make_folder),
            (r"GET /api/dashboards/uid/([\w-]+)", "Viewer", self._board),
            (r"POST /api/dashboards/db", "Editor", self._save_board),
            (r"GET /api/datasources/uid/([\w-]+)", "Viewer", self._source),
            (r"POST /api/datasources", "Admin", self._make_source),
            (r"PUT /api/datasources/uid/([\w-]+)", "Admin", self._save_source),
        ]

    def _settings(self, _: Any) -> Answer:
        return 200, {"buildInfo": {"version": self.version, "edition": "Open Source"}}

    def _folder(self, _: Any, uid: str) -> Answer:
        return (200, self.folders[uid]) if uid in self.folders else (404, {"message": "folder not found"})

    def _make_folder(self, body: Any) -> Answer:
        if any(body["title"] == held["title"] for held in self.folders.values()):
            return 409, {"message": "a folder with the same name already exists in the current location"}
        self.writes.append(f"folder {body['uid']}")
        self.folders[body["uid"]] = {"id": 1, "uid": body["uid"], "title": body["title"], "version": 1}
        return 200, self.folders[body["uid"]]

    def _board(self, _: Any, uid: str) -> Answer:
        held = self.boards.get(uid)
        if held is None:
            return 404, {"message": "Dashboard not found"}
        folder = self.folders.get(held["folder"], {})
        meta = {
            "provisioned": held["provisioned"],
            "folderUid": held["folder"],
            "folderTitle": folder.get("title", "General"),
            "version": held["dashboard"]["version"],
        }
        return 200, {"dashboard": deepcopy(held["dashboard"]), "meta": meta}

    def _save_board(self, body: Any) -> Answer:
        board, uid = body["dashboard"], body["dashboard"]["uid"]
        held = self.boards.get(uid)
        if body["folderUid"] and body["folderUid"] not in self.folders:
            return 404, {"message": "folder not found"}
        if held and held["provisioned"]:
            return 400, {"message": "Cannot save provisioned dashboard"}
        if held and not body["overwrite"] and board.get("version") != held["dashboard"]["version"]:
            text = "The dashboard has been changed by someone else"
            return 412, {"message": text, "status": "version-mismatch"}
        version = held["dashboard"]["version"] + 1 if held else 1
        number = held["dashboard"]["id"] if held else len(self.boards) + 1
        # A default of Grafana's own, and a newer schema than ours.
        kept = {**board, "id": number, "version": version, "schemaVersion": 41, "preload": False}
        self.boards[uid] = {"dashboard": kept, "folder": body["folderUid"], "provisioned": False}
        self.writes.append(f"dashboard {uid}")
        return 200, {"id": number, "uid": uid, "status": "success", "version": version}

    def _source(self, _: Any, uid: str) -> Answer:
        if uid not in self.sources:
            return 404, {"message": "Data source not found"}
        shown = {key: value for key, value in self.sources[uid].items() if key != "secureJsonData"}
        return 200, {**shown, "secureJsonFields": dict.fromkeys(self.secrets.get(uid, {}), True)}

    def _make_source(self, body: Any) -> Answer:
        if any(body["name"] == held["name"] for held in self.sources.values()):
            return 409, {"message": "data source with the same name already exists"}
        return self._keep_source(body, 1)

    def _save_source(self, body: Any, uid: str) -> Answer:
        if uid not in self.sources:
            return 404, {"message": "Data source not found"}
        if self.sources[uid].get("readOnly"):
            return 403, {"message": "Cannot update read-only data source"}
        return self._keep_source(body, self.sources[uid]["version"] + 1)

    def _keep_source(self, body: Any, version: int) -> Answer:
        uid = body["uid"]
        self.secrets.setdefault(uid, {}).update(body.get("secureJsonData", {}))
        self.sources[uid] = {"orgId": 1, "readOnly": False, "basicAuth": False, **body, "version": version}
        self.writes.append(f"data source {uid}")
        return 200, {"message": "Datasource saved", "datasource": {"uid": uid}}


@contextmanager
def serving(grafana: FakeGrafana, tls: ssl.SSLContext | None = None) -> Iterator[FakeGrafana]:
    """Answer over HTTP, or HTTPS, on a free port of loopback."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(grafana))
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    grafana.url = f"{'https' if tls else 'http'}://127.0.0.1:{server.server_port}"
    try:
        yield grafana
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _handler(grafana: FakeGrafana) -> type[BaseHTTPRequestHandler]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def _do(self) -> None:
            length = int(self.headers.get("Content-Length") or 0)
            body = json.loads(self.rfile.read(length)) if length else None
            status, answer = grafana.answer(
                self.command, self.path, body, self.headers.get("Authorization", "")
            )
            text = json.dumps(answer).encode()
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(text)))
            self.end_headers()
            self.wfile.write(text)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = _do

        def log_message(self, *_: object) -> None:
            """Stay silent."""

    return Handler
