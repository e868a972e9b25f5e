"""`alerts list`: what fires now, the oldest first."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

__all__ = ["run"]


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Print it."""
    from otel_attrib.analytics.alerting.listing import ask_alerts
    from otel_attrib.commands.printable import json_line
    from otel_attrib.schema.store import connect

    with connect(args.dsn, args.url) as store:
        body = ask_alerts(store)
    if args.json:
        print(json_line(body))
        return 0
    items = body["items"]
    print(f"{len(items)} alert{'s' * (len(items) != 1)} firing" if items else "nothing fires")
    for item in items:
        _show(item)
    return 0


def _show(item: Mapping[str, Any]) -> None:
    from otel_attrib.analytics.wording import wrapped
    from otel_attrib.commands.printable import printable

    words = item["annotations"]
    silenced = f"  silenced by {item['silenced_by']}" if item["silenced_by"] else ""
    head = f"{item['name']} {item['labels']['severity']}  since {item['starts'][:19]}Z  {item['incident']}"
    print(printable(f"{head}{silenced}"))
    for name in ("summary", "burn", "verdict", "who", "would_decide"):
        for line in str(words.get(name, "")).splitlines():
            print("\n".join(map(printable, wrapped(line, "  ", "    "))))
