"""Put the Grafana dashboards into a Grafana, compare them, or write them as files.

  apply   make or update the folder, the dashboards and, where their addresses
          are given, the data sources; a second time nothing is left to do
  diff    what apply would change; exit code 0 nothing, 3 something
  export  one dashboard on standard output, or all as files for provisioning

Only objects of ours are touched: those with our uid, our tag and in our folder.
If one of them is somebody else's, it is named and nothing is written. Without
NAME all dashboards are meant.

The token of a service account is read from OTEL_ATTRIB_GRAFANA_TOKEN, or a name
and password from OTEL_ATTRIB_GRAFANA_USER as name:password; the password of the
data source from OTEL_ATTRIB_CLICKHOUSE_PASSWORD.
"""

import argparse
import json
import os
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from otel_attrib.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from otel_attrib.dashboards.grafana.plan import Step

__all__ = ["add_arguments", "run"]

_DIFFERS = 3
_UID = re.compile(r"[A-Za-z0-9_-]{1,40}")
_WORDS = {"create": "new", "update": "changed", "same": "same", "refuse": "not ours"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add what `otel-attrib dashboards` understands."""
    parser.epilog = (
        "example: otel-attrib dashboards apply --grafana-url http://127.0.0.1:3000\n"
        "         otel-attrib dashboards diff fleet slo\n"
        "         otel-attrib dashboards export --out grafana"
    )
    parser.add_argument("action", choices=["apply", "diff", "export"], help="what to do")
    parser.add_argument("words", nargs="*", metavar="NAME", help="fleet, tenants, request, devices, cache, …")
    parser.add_argument("--grafana-url", metavar="URL", help="Grafana (http://127.0.0.1:3000)")
    parser.add_argument("--folder", metavar="UID", help="uid of the folder (otel-attrib)")
    parser.add_argument("--page", metavar="URL", help="page that links lead to (http://127.0.0.1:8080)")
    parser.add_argument("--slo", metavar="PATH", help="objectives: an OpenSLO file, or a folder")
    parser.add_argument("--clickhouse", metavar="URL", help="make this data source: http://user@host:8123/db")
    parser.add_argument("--prometheus", metavar="URL", help="make this data source: http://host:9090")
    parser.add_argument("--ca", type=Path, metavar="FILE", help="PEM of the authority to trust")
    parser.add_argument("--insecure", action="store_true", help="do not check Grafana's certificate")
    parser.add_argument("--dry-run", action="store_true", help="apply: say what would be done")
    parser.add_argument("--out", type=Path, metavar="DIR", help="export: write files into DIR")
    parser.add_argument("--at", metavar="PATH", help="export: where Grafana will find DIR/dashboards")
    parser.add_argument("--json", action="store_true", help="print JSON (otel-attrib/dashboards/1)")


def run(args: argparse.Namespace) -> int:
    """Do it; exit 3 when `diff` found a difference."""
    try:
        import grafana_client  # noqa: F401 # asked for before anything is read
        import grafana_foundation_sdk  # noqa: F401
    except ModuleNotFoundError as missing:
        raise MissingExtra("otel-attrib dashboards", "grafana") from missing
    _check(args)
    return _export(args) if args.action == "export" else _apply(args)


def _check(args: argparse.Namespace) -> None:
    from otel_attrib.schema.address import http_parts

    only = {"out": "export", "at": "export", "dry_run": "apply"}
    for name, action in only.items():
        if getattr(args, name) and args.action != action:
            raise UsageError(f"--{name.replace('_', '-')} goes with {action}")
    if args.folder is not None and not _UID.fullmatch(args.folder):
        raise UsageError(f"--folder {args.folder!r} is no uid: letters, digits, - and _, 40 at most")
    if args.page is not None and http_parts(args.page) is None:
        raise UsageError(f"--page {args.page!r} is no address: write http://host:8080 or https://…")
    if args.ca and args.insecure:
        raise UsageError("--ca and --insecure contradict each other")
    if args.ca and not args.ca.is_file():
        raise UsageError(f"--ca {args.ca} is no file")


def _texts(args: argparse.Namespace) -> dict[str, str]:
    from otel_attrib.commands.slo_file import objectives_if_any
    from otel_attrib.dashboards.boards import NAMES, texts
    from otel_attrib.dashboards.config import PAGE_URL

    unknown = [name for name in args.words if name not in NAMES]
    if unknown:
        raise UsageError(f"{unknown[0]} is no dashboard: {', '.join(NAMES)}")
    found = texts(args.page or PAGE_URL, objectives_if_any(args.slo))
    return {name: found[name] for name in (args.words or NAMES)}


def _sources(args: argparse.Namespace) -> list[dict[str, Any]]:
    from otel_attrib.dashboards.config import PAGE_URL
    from otel_attrib.dashboards.grafana import sources

    password = os.environ.get("OTEL_ATTRIB_CLICKHOUSE_PASSWORD", "")
    found = [sources.clickhouse(args.clickhouse, password)] if args.clickhouse else []
    return [
        *found,
        *([sources.prometheus(args.prometheus, args.page or PAGE_URL)] if args.prometheus else []),
    ]


def _export(args: argparse.Namespace) -> int:
    from otel_attrib.dashboards.config import FOLDER
    from otel_attrib.dashboards.grafana.provision import written

    if args.out is None:
        if len(args.words) != 1:
            raise UsageError("name one dashboard to print, or give --out DIR for files")
        sys.stdout.write(_texts(args)[args.words[0]])
        return 0
    at = args.at or str((args.out / "dashboards").resolve())
    files = written(args.out, _texts(args), _sources(args), args.folder or FOLDER, at)
    if args.json:
        print(json.dumps({"schema": "otel-attrib/dashboards/1", "files": [str(path) for path in files]}))
    else:
        print(f"{len(files)} files written; Grafana will look for dashboards in {at}")
        print("\n".join(str(path) for path in files))
    return 0


def _apply(args: argparse.Namespace) -> int:
    from otel_attrib.dashboards.config import FOLDER, GRAFANA_URL
    from otel_attrib.dashboards.grafana.connection import Connection
    from otel_attrib.dashboards.grafana.plan import planned, take

    boards, sources = [json.loads(text) for text in _texts(args).values()], _sources(args)
    url = args.grafana_url or os.environ.get("OTEL_ATTRIB_GRAFANA_URL") or GRAFANA_URL
    writes = args.action == "apply" and not args.dry_run
    with Connection(url, _secret(), str(args.ca) if args.ca else not args.insecure) as grafana:
        version = grafana.version()
        steps = planned(grafana, boards, args.folder or FOLDER, sources)
        if writes:
            take(steps)
    open_steps = [one for one in steps if one.action != "same"]
    if args.json:
        print(json.dumps(_object(args, grafana.url, version, steps, writes), ensure_ascii=False))
    else:
        _show(args, grafana.url, steps, writes)
    return _DIFFERS if args.action == "diff" and open_steps else 0


def _secret() -> str | tuple[str, str] | None:
    token, user = (os.environ.get(f"OTEL_ATTRIB_GRAFANA_{name}", "") for name in ("TOKEN", "USER"))
    if token:
        return token
    name, colon, password = user.partition(":")
    if user and not colon:
        raise UsageError("OTEL_ATTRIB_GRAFANA_USER is written name:password")
    return (name, password) if user else None


def _object(
    args: argparse.Namespace, url: str, version: str, steps: "Sequence[Step]", written: bool
) -> dict[str, Any]:
    items = [
        {
            "kind": one.kind,
            "uid": one.uid,
            "title": one.title,
            "action": one.action,
            "why": one.why or None,
            "diff": list(one.diff) if args.action == "diff" else None,
        }
        for one in steps
    ]
    return {
        "schema": "otel-attrib/dashboards/1",
        "grafana": url,
        "version": version or None,
        "written": written,
        "items": items,
    }


def _show(args: argparse.Namespace, url: str, steps: "Sequence[Step]", written: bool) -> None:
    from otel_attrib.commands.table import print_table

    changed = sum(one.action in ("create", "update") for one in steps)
    refused = sum(one.action == "refuse" for one in steps)
    verb = "were changed" if written else "would be changed"
    same = f"{len(steps) - changed - refused} are as wanted"
    print(f"{changed} of {len(steps)} objects {verb} in {url}; {same}" + _not_ours(refused))
    print_table(("object", "uid", ""), [(one.kind, one.uid, _WORDS[one.action]) for one in steps], left=3)
    for one in steps:
        if one.action == "refuse":
            print(f"{one.kind} {one.uid} {one.why}")
        if args.action == "diff" and one.diff:
            print(f"\n{one.kind} {one.uid}", *one.diff, sep="\n")


def _not_ours(refused: int) -> str:
    return f"; {refused} not ours: apply would write nothing" if refused else ""
