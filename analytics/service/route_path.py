"""Which route a request met, by the path that the OpenAPI document has: ids in it make no labels."""

from starlette.types import Scope

__all__ = ["API", "route_of"]

API = "/api/v1"


def route_of(scope: Scope) -> str:
    """The route's path, with its prefix; `none` where there is no such route."""
    route = scope.get("route")
    path = str(getattr(route, "path_format", None) or getattr(route, "path", ""))
    if not path:
        return "none"
    within = str(scope["path"]).startswith(f"{API}/") and not path.startswith(API)
    return f"{API}{path}" if within else path
