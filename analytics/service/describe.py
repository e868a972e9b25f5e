"""What OpenAPI says of the answers: each problem that a route may give, events, and shared headers."""

from typing import Any

from otel_attrib.analytics.service.problem import PROBLEM

__all__ = ["DESCRIPTION", "LIVE", "LONG", "ONE", "PROBLEMS", "problems"]

DESCRIPTION = """
Latency of LLM inference servers: its quantiles, why they rose, and the requests behind them. Parameters are
the options of the `otel-attrib` commands of the same names, bodies what these print with `--json`.

Every answer has an `ETag`; send it back in `If-None-Match` to get 304 while nothing has changed. Answers may
be gzip. Faults are `application/problem+json`. A parameter that a route does not have is refused.
""".strip()

_WHEN = {
    401: "No token, or one that is not known or has expired.",
    403: "The caller's role or tenants do not allow it, or the service is closed (no tokens are set).",
    404: "Nothing of that name that the caller may see.",
    409: "It is there already.",
    413: "A statement would read or hold more than one may (`api_rows`, `api_memory`): narrow the question.",
    422: "A parameter cannot be used, is unknown, or nothing is stored that the question could reach.",
    429: "Too many questions wait, or too many listen: come again after `Retry-After` seconds.",
    503: "The store cannot be reached or refuses: `Retry-After`.",
    504: "A statement took longer than it may (`api_seconds`): narrow the question.",
}
_SCHEMA = {
    "type": "object",
    "required": ["type", "title", "status", "detail"],
    "properties": {
        "type": {"type": "string", "description": "Always about:blank: the status says what kind it is."},
        "title": {"type": "string", "description": "The status in words."},
        "status": {"type": "integer", "minimum": 400, "maximum": 599},
        "detail": {"type": "string", "description": "What was wrong and what to do."},
    },
}

Responses = dict[int | str, dict[str, Any]]


def problems(*statuses: int) -> Responses:
    """The problems with these statuses, for a route's `responses`."""
    return {
        status: {"description": _WHEN[status], "content": {PROBLEM: {"schema": _SCHEMA}}}
        for status in statuses
    }


PROBLEMS: Responses = problems(401, 403, 413, 422, 429, 503, 504)
"""What every question may end in."""

ONE: Responses = problems(404)
"""Beside `PROBLEMS`, where one thing is named."""

EVENTS = {
    "description": "The answer. With `Accept: text/event-stream` events instead: `progress` with `step`,"
    " `done` and `of` as the question goes on, then one `result` (the answer) or `problem`; comments keep the"
    " connection open.",
    "content": {
        "application/json": {"schema": {"type": "object"}},
        "text/event-stream": {
            "schema": {"type": "string"},
            "example": 'event: progress\ndata: {"step": "dividing the change", "done": 2, "of": 3}\n\n'
            'event: result\ndata: {"schema": "otel-attrib/why/1"}\n\n',
        },
    },
}

LONG: Responses = {200: EVENTS, **problems(404)}
"""Beside `PROBLEMS`, where the answer may come as events."""

LIVE: Responses = {
    200: {
        "description": "Events until the client leaves. `quantile`: `time` (the window's end), `points` with"
        " `n`, `ms`, `few` for each group. `report`: an item of /reports, its `id` is for `Last-Event-ID`."
        " `mark`: an item of /marks. `problem`: a question failed, and is asked again at the next step."
        " Comments keep the connection open.",
        "content": {
            "text/event-stream": {
                "schema": {"type": "string"},
                "example": 'event: quantile\ndata: {"schema": "otel-attrib/live/1", "points": []}\n\n',
            }
        },
    }
}
"""Beside `PROBLEMS`, what /live gives."""
