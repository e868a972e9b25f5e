"""Read requests or exported telemetry from a file.

otlp      OTLP as exporters write it: protobuf (one message, or many behind
          their lengths) or JSON (one object, or one a line as the Collector's
          file exporter writes), gzipped or not; traces, metrics and logs are
          told apart by content
requests  a table of requests, JSON Lines, CSV or Parquet, whose columns you name
samples   a table of device and host counters, a column or a row each
profile   a GPU profile of the PyTorch profiler or Nsight Systems: what each step
          went to, and what was copied and sent between cards
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
a column called queue_ms or ttft_us maps itself, and so does a plain `ttft` or
`queue` that holds nothing but numbers (in seconds, and the summary says so).
Sizes: prompt_tokens, cached_tokens, output_tokens; weight, how many requests a
row stands for where others were sampled away. And request_id, model,
service, version, node, tenant, status, finish_reason, error_type, …

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


_SAMPLES = """\
Read a table of device and host counters: JSON Lines, a JSON array, CSV or
Parquet, gzipped or not.

Wide (a column a counter): each --map names one of our counters and its column.
Long (a row a value): --map metric=COLUMN value=COLUMN, and each further --map
names one of our counters and the word that stands for it in the metric column;
words without one are kept under their own name. time, node, device and service
name those columns. --unit gpu_clock:GHz says a column's unit where it is not
ours; docs/importing.md lists the counters and their units.

node must be called as it is in the requests, and device as in their gpu_set,
or the counters are not found beside them."""

_SAMPLES_EXAMPLE = """\
examples:
  otel-attrib import samples dmon.csv --map time=ts node=host device=gpu \\
      --map gpu_clock=pclk gpu_power=pwr pcie_receive=rxpci \\
      --unit pcie_receive:MB/s
  otel-attrib import samples dcgm.parquet --map metric=name value=value \\
      --map gpu_clock=DCGM_FI_DEV_SM_CLOCK --set node=node3"""

_PROFILE = """\
Read a GPU profile: JSON of the PyTorch profiler (gzipped or not) or an Nsight
Systems SQLite export. Kept are samples beside the requests of the node: of each
step the share of its time that computing, memory, collectives, copies and idling
took (slatag.profile.share), and the bytes and times of copies and collectives.

Times are those of the profile's own clock where the file says how it stands to
the wall clock; else --start says when its first activity began. Importing a
profile again adds nothing. `otel-attrib profile FILE` prints it without a store."""

_PROFILE_EXAMPLE = """\
examples:
  otel-attrib import profile rank0.pt.trace.json.gz --set node=n1
  otel-attrib import profile run.sqlite --set node=n1 service=chat --dry-run"""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the kinds of file and their options."""
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
    samples = kinds.add_parser(
        "samples",
        help="a table of device and host counters",
        description=_SAMPLES,
        epilog=_SAMPLES_EXAMPLE,
        formatter_class=raw,
    )
    samples.add_argument("file", nargs="?", metavar="FILE", help="a file, or - for standard input")
    _several(samples, "--map", "NAME=COLUMN", "which column (or word) holds one of our names")
    _several(samples, "--set", "NAME=VALUE", "node, device or service of every row")
    _several(samples, "--unit", "NAME:UNIT", "the unit of a column, such as gpu_clock:GHz or time:ms")
    _common(samples)
    profile = kinds.add_parser(
        "profile",
        help="a GPU profile",
        description=_PROFILE,
        epilog=_PROFILE_EXAMPLE,
        formatter_class=raw,
    )
    profile.add_argument(
        "file", nargs="?", metavar="FILE", help="a profile of the PyTorch profiler or Nsight Systems"
    )
    _several(profile, "--set", "NAME=VALUE", "node (needed), service, and device if it has only one")
    profile.add_argument(
        "--start", metavar="TIME", help="when the first activity began, if the file does not say"
    )
    _common(profile)


def _table_options(parser: argparse.ArgumentParser) -> None:
    _several(parser, "--map", "NAME=COLUMN", "which column holds one of our names")
    _several(parser, "--set", "NAME=VALUE", "the same value for every row, such as model=llama-8b")
    _several(parser, "--unit", "UNIT", "s, ms, us or ns for all moments, or arrival:ms for one (s)")
    _several(parser, "--clock", "CLOCK=STAMP,…", "moments read from one clock; `wall` counts from 1970")
    parser.add_argument(
        "--ttft-from",
        choices=("auto", "arrival", "queued"),
        default="auto",
        help="where TTFT and E2E start (auto: arrival, or queued if that is on another clock)",
    )
    parser.add_argument(
        "--start", metavar="TIME", help="moment of the first stamp if no column has wall time"
    )


def _several(parser: argparse.ArgumentParser, name: str, metavar: str, text: str) -> None:
    parser.add_argument(name, nargs="+", action="extend", default=[], metavar=metavar, help=text)


def _common(parser: argparse.ArgumentParser) -> None:
    from otel_attrib.schema.store import add_store_arguments

    parser.add_argument("--strict", action="store_true", help="import nothing if anything cannot be read")
    parser.add_argument("--dry-run", action="store_true", help="show what would be imported, write nothing")
    parser.add_argument("--json", action="store_true", help="print the summary as JSON")
    add_store_arguments(parser)


def run(args: argparse.Namespace) -> int:
    """Import and print what became of it."""
    import json

    from otel_attrib.commands import import_otlp, import_profile, import_requests, import_samples

    if args.kind != "otlp":
        _find_file(args)
    kinds: dict[str, Any] = {
        "otlp": import_otlp,
        "requests": import_requests,
        "samples": import_samples,
        "profile": import_profile,
    }
    kind = kinds[args.kind]
    summary = kind.run(args)
    print(json.dumps(summary.as_dict(), ensure_ascii=False) if args.json else "\n".join(summary.lines()))
    return 1 if args.kind == "otlp" and summary.unread else 0


def _find_file(args: argparse.Namespace) -> None:
    """A file that stands behind `--map a=b c=d` was taken for one more pair: give it back."""
    from otel_attrib.errors import UsageError

    for given in (getattr(args, "map", []), args.set, getattr(args, "clock", [])):
        for word in [word for word in given if "=" not in word and args.file is None]:
            given.remove(word)
            args.file = word
    if args.file is None:
        option = "--set node=NAME" if args.kind == "profile" else "--map NAME=COLUMN"
        raise UsageError(f"no FILE is given: otel-attrib import {args.kind} FILE {option}")
