"""A query parameter that a route does not have is refused by name: whoever mistypes one would not notice."""

from collections.abc import Mapping
from difflib import get_close_matches
from typing import Any

from starlette.requests import Request

from otel_attrib.analytics.service.route_path import route_of
from otel_attrib.errors import UsageError

__all__ = ["UnknownParameters", "refuse_unknown"]


class UnknownParameters:
    """The parameters of every route, as the OpenAPI document says them."""

    def __init__(self) -> None:
        """Know nothing yet: routes are added later."""
        self._known: dict[tuple[str, str], dict[str, bool]] = {}

    def learn(self, document: Mapping[str, Any]) -> None:
        """Take the parameters from the document: name → whether it may be given several times."""
        for path, operations in document["paths"].items():
            for method, operation in operations.items():
                self._known[method.upper(), path] = {
                    each["name"]: _is_list(each["schema"])
                    for each in operation.get("parameters", ())
                    if each["in"] == "query"
                }

    def check(self, request: Request, path: str) -> None:
        """Refuse a parameter of `request` that is unknown, or given twice where one value is meant."""
        method = "GET" if request.method == "HEAD" else request.method
        known = self._known[method, path]
        names = [name for name, _ in request.query_params.multi_items()]
        for name in dict.fromkeys(names):
            if name not in known:
                raise UsageError(_unknown(name, list(known)))
            if not known[name] and names.count(name) > 1:
                raise UsageError(f"{name}: given {names.count(name)} times, give it once")


async def refuse_unknown(request: Request) -> None:
    """The dependency of every route that does so."""
    parameters: UnknownParameters = request.app.state.unknown_parameters
    parameters.check(request, route_of(request.scope))


def _unknown(name: str, known: list[str]) -> str:
    near = get_close_matches(name, known, n=1)
    shown = name if len(name) <= 60 else f"{name[:60]}…"
    if near:
        return f"no parameter {shown!r} here: do you mean {near[0]!r}?"
    return f"no parameter {shown!r} here: {', '.join(known) or 'there are none'}"


def _is_list(schema: Mapping[str, Any]) -> bool:
    return "array" in (schema.get("type"), *(each.get("type") for each in schema.get("anyOf", ())))
