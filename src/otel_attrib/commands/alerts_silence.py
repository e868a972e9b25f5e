"""`alerts silence`: make a silence, list those there are, let one end."""

import argparse
from collections.abc import Mapping, Sequence
from typing import Any

from otel_attrib.errors import UsageError

__all__ = ["run"]

Body = Mapping[str, Any]


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Do the one that the words and options ask for."""
    from otel_attrib.commands.printable import json_line, printable

    if args.end and words:
        raise UsageError("--end takes no conditions: it names a silence that there is")
    found = _ended(args) if args.end else _made(args, words) if words else _all(args)
    if args.json:
        print(json_line({"schema": "otel-attrib/alerts/1", "silences": found}))
        return 0
    if not found:
        print("nothing is silenced")
    for one in found:
        until = f"until {one['ends'][:19].rstrip('Z')}Z"
        print(printable(f"{one['id']} {one['state']} {until} by {one['created_by']}: {one['comment']}"))
        print(printable(f"  {' '.join(one['matchers'])}"))
    return 0


def _made(args: argparse.Namespace, words: Sequence[str]) -> list[Body]:
    from datetime import UTC, datetime

    from otel_attrib.analytics.alerting.silences import Silence, keep_silence, parse_matchers
    from otel_attrib.analytics.windows import parse_duration
    from otel_attrib.schema.service import service_post
    from otel_attrib.schema.store import chosen, connect

    now = datetime.now(UTC).replace(microsecond=0)
    by = args.by or _user()
    made = Silence.new(parse_matchers(words), now, now + parse_duration(args.lasts), by, args.comment)
    dsn, url = chosen(args.dsn, args.url)
    if url is not None:
        body = {"matchers": list(words), "comment": args.comment, "created_by": by, "lasts": args.lasts}
        return list(service_post(url, "alerts/silences", body)["silences"])
    with connect(dsn, None) as store:
        keep_silence(store, made, now)
    return [made.as_dict(now)]


def _ended(args: argparse.Namespace) -> list[Body]:
    from datetime import UTC, datetime
    from urllib.parse import quote

    from otel_attrib.analytics.alerting.silences import end_silence
    from otel_attrib.schema.service import service_post
    from otel_attrib.schema.store import chosen, connect

    now = datetime.now(UTC)
    dsn, url = chosen(args.dsn, args.url)
    if url is not None:
        path = f"alerts/silences/{quote(args.end, safe='')}"
        return list(service_post(url, path, None, method="DELETE")["silences"])
    with connect(dsn, None) as store:
        return [end_silence(store, args.end, now).as_dict(now)]


def _all(args: argparse.Namespace) -> list[Body]:
    from datetime import UTC, datetime

    from otel_attrib.analytics.alerting.silences import fetch_silences
    from otel_attrib.schema.store import connect

    now = datetime.now(UTC)
    with connect(args.dsn, args.url) as store:
        return [one.as_dict(now) for one in fetch_silences(store, now)]


def _user() -> str:
    """Who is logged in; a container may have no name for its user."""
    import getpass
    import os

    try:
        return getpass.getuser()
    except (KeyError, OSError):
        return f"user {os.getuid()}"
