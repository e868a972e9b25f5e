"""What the foundation SDK writes for Grafana 10.1, in words that the newest Grafana takes as well."""

from typing import Any, Final

__all__ = ["current"]

# Defaults of the SDK that mean nothing, and that the newest published types no longer name: the light or dark
# theme, a variable's interval where it is none, a table's footer, which has moved to field options.
_GONE: Final = {
    "dashboard": ("style",),
    "variable": ("auto", "auto_count", "auto_min", "id", "allFormat"),
    "table": ("footer",),
}


def current(board: dict[str, Any]) -> dict[str, Any]:
    """The dashboard without what is no longer known or null; a heat map's tooltip in both tongues."""
    _without(board, _GONE["dashboard"])
    for variable in board["templating"]["list"]:
        _without(variable, _GONE["variable"])
    for panel in board["panels"]:
        options = panel.get("options") or {}
        if panel["type"] == "table":
            _without(options, _GONE["table"])
        if panel["type"] == "heatmap":
            options["tooltip"] = {**options["tooltip"], "show": True, "mode": "single"}
    found: dict[str, Any] = _said(board)
    return found


def _without(thing: dict[str, Any], names: tuple[str, ...]) -> None:
    for name in names:
        thing.pop(name, None)


def _said(value: Any, key: str = "") -> Any:
    """Without nulls; the first step of thresholds begins at null, which is meant."""
    if isinstance(value, dict):
        return {name: _said(one, name) for name, one in value.items() if one is not None or key == "steps"}
    if isinstance(value, list):
        return [_said(one, key) for one in value]
    return value
