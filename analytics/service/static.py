"""The web page: index.html at `/`, its files under `/assets`."""

from pathlib import Path

from fastapi import FastAPI
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response
from starlette.staticfiles import StaticFiles
from starlette.types import Scope

__all__ = ["add_page", "add_runbooks"]

_NO_PAGE = "no web page is built into this installation; /openapi.json describes the API\n"
_FOR_EVER = "public, max-age=31536000, immutable"


class _Assets(StaticFiles):
    """Files by ETag; for ever when their address carries the hash of their content (`app.js?v=…`)."""

    async def get_response(self, path: str, scope: Scope) -> Response:
        response = await super().get_response(path, scope)
        hashed = scope["query_string"].startswith(b"v=") and response.status_code in (200, 304)
        response.headers["Cache-Control"] = _FOR_EVER if hashed else "no-cache"
        return response


def add_runbooks(app: FastAPI, folder: Path | None) -> None:
    """Serve the runbooks, which alerts link to, as text: they say nothing about the site, so to anybody."""
    if folder is not None and folder.is_dir():
        app.mount("/runbooks", StaticFiles(directory=folder), name="runbooks")


def add_page(app: FastAPI, page: Path | None) -> None:
    """Serve the folder `page`; without one `/` says where the API is."""
    index = page / "index.html" if page is not None else None

    @app.get("/", include_in_schema=False)
    async def root(_: Request) -> Response:
        """The page."""
        if index is None or not index.is_file():
            return PlainTextResponse(_NO_PAGE, 404)
        return FileResponse(index, headers={"Cache-Control": "no-cache"}, media_type="text/html")

    if page is not None and page.is_dir():
        app.mount("/assets", _Assets(directory=page), name="assets")
