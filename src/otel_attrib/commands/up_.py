"""Receive OTLP, keep it in ClickHouse, and answer questions, in one process.

Listens on loopback: OTLP over gRPC (4317) and HTTP (4318), the embedded store
as a read-only ClickHouse over HTTP (8123), API, web page and counters (8080).
Point exporters at it with OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4317.
The counters of this machine's cards and host are read as well, as by
`otel-attrib agent`. SIGTERM or Ctrl-C stops it cleanly. Every setting can also
come from the environment or a file: see docs/reference/settings.md.
"""

import argparse
import json
import os
from collections.abc import Mapping

from otel_attrib.errors import MissingExtra

__all__ = ["add_arguments", "run"]

_MEANING = {
    "otlp_grpc": "OTLP over gRPC",
    "otlp_http": "OTLP over HTTP",
    "clickhouse": "ClickHouse, read-only",
    "http": "API, web page, counters",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; those not given come from the environment, a file or the default."""
    parser.epilog = (
        "example: otel-attrib up\n"
        "         otel-attrib up --dsn clickhouse://db/otel_attrib --host 0.0.0.0\n"
        "         otel-attrib up --otlp-grpc-port 0 --http-port 0 --json"
    )
    parser.add_argument(
        "--dsn", metavar="DSN", help="store: chdb:///path, chdb://memory or clickhouse://… (OTEL_ATTRIB_DSN)"
    )
    parser.add_argument("--host", help="address to listen on (127.0.0.1)")
    for name, port in (("otlp-grpc", 4317), ("otlp-http", 4318), ("clickhouse", 8123), ("http", 8080)):
        parser.add_argument(f"--{name}-port", metavar="PORT", help=f"({port}; 0: any free one)")
    parser.add_argument("--spool", metavar="DIR", help="requests not yet in the store (beside the store)")
    parser.add_argument("--spool-limit", metavar="SIZE", help="what the spool may hold (4GiB)")
    parser.add_argument(
        "--no-agent", action="store_true", help="do not read this machine's counters (OTEL_ATTRIB_AGENT=off)"
    )
    parser.add_argument("--json", action="store_true", help="print one line of JSON once it serves")


def run(args: argparse.Namespace) -> int:
    """Serve until a signal comes."""
    from otel_attrib.config import load

    names = ("dsn", "host", "otlp_grpc_port", "otlp_http_port", "clickhouse_port", "http_port")
    given = {name: getattr(args, name) for name in (*names, "spool", "spool_limit")}
    settings = load(**given, agent=False if args.no_agent else None)
    try:
        from otel_attrib.analytics.service.authentication import Authentication
        from otel_attrib.analytics.service.logs import set_up_logs
        from otel_attrib.collector.up import serve
        from otel_attrib.commands.face import face
    except ImportError as missing:
        raise MissingExtra("otel-attrib up", "store,server") from missing
    Authentication(settings)  # tokens that cannot be read are told before anything is opened
    set_up_logs(settings.log_format, settings.access_log)
    serve(settings, _print_json if args.json else _print, face)
    return 0


def _print_json(addresses: Mapping[str, str]) -> None:
    print(json.dumps({"ready": True, **addresses, "pid": os.getpid()}), flush=True)


def _print(addresses: Mapping[str, str]) -> None:
    for name, address in addresses.items():
        print(f"{_MEANING[name]:22} {address}")
    print("ready; Ctrl-C stops it", flush=True)
