"""The API and the web page over a ClickHouse store, without a receiver.

For sites whose OpenTelemetry Collectors write to ClickHouse themselves, and for
more than one server of the same store. The embedded store (chdb://) belongs to
one process: there `otel-attrib up` serves both. The tables must be there: see
`otel-attrib migrate`. SIGTERM or Ctrl-C stops it. Settings:
docs/reference/settings.md, those of the API.
"""

import argparse
import json
import os
from collections.abc import Mapping

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; those not given come from the environment, a file or the default."""
    parser.epilog = (
        "example: otel-attrib serve --dsn clickhouse://default@db:8123/otel_attrib\n"
        "         otel-attrib serve --dsn clickhouse://db/otel_attrib --host 0.0.0.0"
    )
    parser.add_argument(
        "--dsn", metavar="DSN", help="store: clickhouse://user:pw@host:port/db (OTEL_ATTRIB_DSN)"
    )
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    parser.add_argument("--http-port", metavar="PORT", help="(8080; 0: any free one)")
    parser.add_argument("--json", action="store_true", help="print one line of JSON once it serves")


def run(args: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    from otel_attrib.config import load
    from otel_attrib.errors import MissingExtra, UsageError
    from otel_attrib.schema.dsn import default_dsn, parse_dsn

    settings = load(dsn=args.dsn, host=args.host, http_port=args.http_port)
    dsn = parse_dsn(settings.dsn or default_dsn())
    if dsn.embedded:
        raise UsageError(
            f"the embedded store {dsn.shown} belongs to one process: `otel-attrib up` serves the API beside"
            " its receiver; `serve` takes a clickhouse:// DSN"
        )
    try:
        from otel_attrib.analytics.service.authentication import Authentication
        from otel_attrib.analytics.service.logs import set_up_logs
        from otel_attrib.commands.alone import serve_alone
    except ImportError as missing:
        raise MissingExtra("otel-attrib serve", "store,server") from missing
    Authentication(settings)  # tokens that cannot be read are told before anything is opened
    set_up_logs(settings.log_format, settings.access_log)
    serve_alone(settings, dsn, _print_json if args.json else _print)
    return 0


def _print_json(addresses: Mapping[str, str]) -> None:
    print(json.dumps({"ready": True, **addresses, "pid": os.getpid()}), flush=True)


def _print(addresses: Mapping[str, str]) -> None:
    print(f"API, web page, counters  {addresses['http']}\nready; Ctrl-C stops it", flush=True)
