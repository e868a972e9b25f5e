"""Read requests or exported telemetry from a file.

otlp      OTLP as exporters write it: protobuf (one message, or many behind
          their lengths) or JSON (one object, or one a line as the Collector's
          file exporter writes), gzipped or not; traces, metrics and logs are
          told apart by content
requests  a table of requests, JSON Lines or CSV, whose columns you name
"""

import argparse
from typing import Any

__all__ = ["add_arguments", "run"]

_OTLP_EXAMPLE = """\
examples:
  otel-attrib import otlp traces.jsonl.gz metrics.pb
  kubectl exec collector -- cat /data/traces.json | otel-attrib import otlp -"""

_REQUESTS = """\
Read a table of requests: JSON Lines, a JSON array, CSV or Parquet, gzipped or not.

Each --map names one of our names and the column that holds it; a column that
is called like one of them maps itself. Moments: arrival, queued, scheduled,
first_token, last_token, as numbers (seconds unless --unit says otherwise) or as
RFC 3339. Durations that the table has as such: ttft, tpot, e2e and the stages
(ingress, tokenize, queue, kv_init, prefill, sample, egress, decode_forward, …);
a column called queue_ms or ttft_us maps itself. Sizes: prompt_tokens, cached_tokens, output_tokens. And request_id,
model, service, version, node, tenant, status, finish_reason, error_type, …

Stamps of two clocks are never subtracted from each other: what would cross them
is left empty (NULL). Which stamps share a clock is declared with --clock, else
found from the table and said. Where the arrival is on another clock than the
first token, TTFT and E2E start at `queued` and say so (--ttft-from arrival
leaves them empty instead).

A row makes the same ids on every import, and what the store holds is left out:
importing a file twice adds nothing."""

_REQUESTS_EXAMPLE = """\
examples:
  otel-attrib import requests runs.jsonl --map prompt_tokens=input_toks \\
      --map output_tokens=output_toks --map arrival=arrival_time \\
      --map queued=queued_ts --map scheduled=scheduled_ts \\
      --map first_token=first_token_ts --map last_token=last_token_ts \\
      --set model=llama-3.1-8b --set service=chat
  otel-attrib import requests trace.csv --map arrival=TIMESTAMP --dry-run"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare both kinds of file and their options."""
    parser.epilog = (
        "example: otel-attrib import otlp traces.jsonl\nhelp:    otel-attrib import requests --help"
    )
    kinds = parser.add_subparsers(dest="kind", metavar="KIND", required=True)
    raw = argparse.RawDescriptionHelpFormatter
    otlp = kinds.add_parser("otlp", help="exported OTLP", epilog=_OTLP_EXAMPLE, formatter_class=raw)
    otlp.add_argument("files", nargs="+", metavar="FILE", help="a file, or - for standard input")
    _common(otlp)
    table = kinds.add_parser(
        "requests",
        help="a table of requests",
        description=_REQUESTS,
        epilog=_REQUESTS_EXAMPLE,
        formatter_class=raw,
    )
    table.add_argument("file", nargs="?", metavar="FILE", help="a file, or - for standard input")
    _table_options(table)
    _common(table)


def _table_options(parser: argparse.ArgumentParser) -> None:
    def several(name: str, metavar: str, text: str) -> None:
        parser.add_argument(name, nargs="+", action="extend", default=[], metavar=metavar, help=text)

    several("--map", "NAME=COLUMN", "which column holds one of our names")
    several("--set", "NAME=VALUE", "the same value for every row, such as model=llama-8b")
    several("--unit", "UNIT", "s, ms, us or ns for all moments, or arrival:ms for one (s)")
    several("--clock", "CLOCK=STAMP,…", "moments read from one clock; `wall` counts from 1970")
    parser.add_argument(
        "--ttft-from",
        choices=("auto", "arrival", "queued"),
        default="auto",
        help="where TTFT and E2E start (auto: arrival, or queued if that is on another clock)",
    )
    parser.add_argument(
        "--start", metavar="TIME", help="moment of the first stamp if no column has wall time"
    )


def _common(parser: argparse.ArgumentParser) -> None:
    from otel_attrib.schema.store import add_store_arguments

    parser.add_argument("--strict", action="store_true", help="import nothing if anything cannot be read")
    parser.add_argument("--dry-run", action="store_true", help="show what would be imported, write nothing")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Import and print what became of it."""
    import json

    from otel_attrib.commands import import_otlp, import_requests

    if args.kind == "requests":
        _find_file(args)
    kind: Any = import_otlp if args.kind == "otlp" else import_requests
    summary = kind.run(args)
    print(json.dumps(summary.as_dict(), ensure_ascii=False) if args.json else "\n".join(summary.lines()))
    return 1 if args.kind == "otlp" and summary.unread else 0


def _find_file(args: argparse.Namespace) -> None:
    """A file that stands behind `--map a=b c=d` was taken for one more pair: give it back."""
    from otel_attrib.errors import UsageError

    for given in (args.map, args.set, args.clock):
        for word in [word for word in given if "=" not in word and args.file is None]:
            given.remove(word)
            args.file = word
    if args.file is None:
        raise UsageError("no FILE is given: otel-attrib import requests FILE --map NAME=COLUMN")
