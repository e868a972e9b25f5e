"""The reference page of dashboards and panels.

python -m otel_attrib.dashboards.panels_page > docs/reference/panels.md
"""

import json
import sys
from collections.abc import Iterator
from typing import Any, Final

from otel_attrib.dashboards.boards import texts

__all__ = ["page"]

_HEAD: Final = """\
# Panels of the Grafana dashboards

<!-- Generated from dashboards/ by `make docs`; do not edit. -->

Made by `otel-attrib dashboards`; how to bring them into Grafana is in [grafana.md](../grafana.md).
The uid of a dashboard is `otel-attrib-NAME`. What a panel shows, its unit and how far it may be off stand in
its description as well.
"""


def page() -> str:
    """The page as Markdown: a section a dashboard, a table a row of panels."""
    boards = {name: json.loads(text) for name, text in texts().items()}
    return _HEAD + "".join("".join(_section(name, board)) for name, board in boards.items())


def _section(name: str, board: dict[str, Any]) -> Iterator[str]:
    variables = ", ".join(f"`{one['name']}`" for one in board["templating"]["list"])
    yield f"\n## {board['title']}\n\n`{name}`: {board['description']}\nVariables: {variables}.\n"
    if board["panels"][0]["type"] != "row":
        yield f"\n{_TABLE}"
    for panel in board["panels"]:
        yield f"\n### {panel['title']}\n\n{_TABLE}" if panel["type"] == "row" else _line(panel)


_TABLE: Final = "| panel | shows | unit | bound |\n| --- | --- | --- | --- |\n"


def _line(panel: dict[str, Any]) -> str:
    definition, unit, bound = panel["description"].split("\n\n")
    cells = (panel["title"], definition, unit.removeprefix("Unit: "), bound.removeprefix("Bound: "))
    return "| " + " | ".join(cell.removesuffix(".").replace("|", "\\|") for cell in cells) + " |\n"


if __name__ == "__main__":
    sys.stdout.write(page())
