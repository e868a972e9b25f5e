"""Faults as RFC 9457 problems: one line of what was wrong and what to do, never a traceback."""

import logging
from collections.abc import Mapping
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI
from fastapi.exceptions import RequestValidationError
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response

from otel_attrib.errors import DataError, NotFound, OtelAttribError, StoreBusy, StoreError, UsageError

__all__ = [
    "PROBLEM",
    "Forbidden",
    "OverLimit",
    "TooBusy",
    "Unauthorized",
    "add_problem_handlers",
    "problem",
    "problem_body",
    "problem_of",
    "told_problem",
]

PROBLEM = "application/problem+json"
UNEXPECTED = "the service failed at this question; its log has the fault. Please report it as a bug"
_log = logging.getLogger(__name__)


class Forbidden(OtelAttribError):
    """The caller may not do or see what was asked for."""


class Unauthorized(OtelAttribError):
    """Nobody knows the caller: the token is missing, wrong or over."""


class TooBusy(OtelAttribError):
    """More questions wait than the service lets wait; `after` seconds later there may be room."""

    def __init__(self, message: str, after: int = 1) -> None:
        """Keep the time beside the message."""
        super().__init__(message)
        self.after = after


class OverLimit(OtelAttribError):
    """The question costs more than one may; `status` is 504 for time, 413 for rows or memory."""

    def __init__(self, message: str, status: int) -> None:
        """Keep the status beside the message."""
        super().__init__(message)
        self.status = status


def problem_body(status: int, detail: str) -> dict[str, Any]:
    """The members of one problem."""
    title = HTTPStatus(status).phrase
    return {"type": "about:blank", "title": title, "status": status, "detail": detail}


def problem(status: int, detail: str, headers: Mapping[str, str] | None = None) -> Response:
    """One problem as a response."""
    return JSONResponse(problem_body(status, detail), status, headers, PROBLEM)


def problem_of(fault: Exception) -> Response:
    """The problem that a fault is told as; one that is not ours says nothing of itself."""
    if isinstance(fault, OtelAttribError):
        status, headers = _status(fault)
        return problem(status, str(fault), headers)
    return problem(500, UNEXPECTED)


def told_problem(what: str, fault: Exception) -> Response:
    """The problem that `what` failed with; a fault that is not the caller's goes into the log, whole."""
    told = problem_of(fault)
    if told.status_code == 500:
        _log.error("%s failed", what, exc_info=fault)
    return told


def _status(fault: OtelAttribError) -> tuple[int, dict[str, str]]:
    if isinstance(fault, Unauthorized):
        return 401, {"WWW-Authenticate": 'Bearer realm="otel-attrib"'}
    if isinstance(fault, TooBusy):
        return 429, {"Retry-After": str(fault.after)}
    if isinstance(fault, OverLimit):
        return fault.status, {}
    if isinstance(fault, StoreBusy | StoreError):
        return 503, {"Retry-After": "5"}
    known = ((Forbidden, 403), (NotFound, 404), (UsageError, 422), (DataError, 422))
    return next((status for kind, status in known if isinstance(fault, kind)), 500), {}


def add_problem_handlers(app: FastAPI) -> None:
    """Tell every fault of the application as a problem."""
    app.add_exception_handler(OtelAttribError, _ours)
    app.add_exception_handler(RequestValidationError, _invalid)
    app.add_exception_handler(HTTPException, _http)
    app.add_exception_handler(ClientDisconnect, _gone)
    app.add_exception_handler(Exception, _unexpected)


async def _ours(_: Request, fault: Exception) -> Response:
    return problem_of(fault)


async def _invalid(_: Request, fault: Exception) -> Response:
    assert isinstance(fault, RequestValidationError)
    told = [
        f"{'.'.join(map(str, each['loc'][1:])) or each['loc'][0]}: {each['msg']}" for each in fault.errors()
    ]
    return problem(422, "; ".join(told))


async def _http(_: Request, fault: Exception) -> Response:
    assert isinstance(fault, HTTPException)
    return problem(fault.status_code, str(fault.detail), dict(fault.headers or {}))


async def _gone(_: Request, __: Exception) -> Response:
    """Nobody reads this answer; its status is for the log and the counters, as other servers have it."""
    return Response(status_code=499)


async def _unexpected(request: Request, fault: Exception) -> Response:
    return told_problem(f"{request.method} {request.url.path}", fault)
