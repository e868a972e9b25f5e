"""What fires now and why; rules for Prometheus and Grafana; silences; a test.

  alerts                what fires now, each with its verdict (or: alerts list)
  alerts run            look for incidents and tell, until stopped
  alerts test           send a test alert to all who are told, show the answers
  alerts check          what would be watched and told, and by which rules
  alerts export         rules of the objectives, for Prometheus or Grafana
  alerts silence COND…  tell nobody of alerts that meet every condition
  alerts silence        list silences; --end ID lets one end now

`otel-attrib up` looks for incidents by itself where settings alertmanager or
webhooks name somebody to tell (or alerts is on); `alerts run` does the same
beside a service or over a ClickHouse store. See docs/alerts.md.
"""

import argparse
from importlib import import_module

from otel_attrib.errors import UsageError

__all__ = ["add_arguments", "run"]

# Each has `run(args, words) -> int`; `words` stand behind its name.
PARTS = {
    "list": "alerts_list",
    "run": "alerts_run",
    "test": "alerts_test",
    "check": "alerts_check",
    "export": "alerts_export",
    "silence": "alerts_silence",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of this command and of its parts."""
    from otel_attrib.schema.store import add_store_arguments

    parser.usage = "otel-attrib alerts [options] [PART [WORD ...]]"
    parser.epilog = (
        "example: otel-attrib alerts\n"
        "         otel-attrib alerts export --format prometheus --out rules.yaml\n"
        "         otel-attrib alerts silence model=llama-8b --for 2h --comment drill\n"
        "         otel-attrib alerts test"
    )
    parser.add_argument("words", nargs="*", metavar="PART", help="one of the parts above, with its words")
    parser.add_argument("--slo", metavar="F", help="OpenSLO file or folder (setting slo)")
    parser.add_argument("--json", action="store_true", help="print JSON")
    add_store_arguments(parser)
    rules = parser.add_argument_group("options of export")
    rules.add_argument(
        "--format", choices=("prometheus", "grafana", "grafana-api"), help="whose rules, and how given"
    )
    rules.add_argument("--out", metavar="F", help="write into a file (standard output)")
    rules.add_argument(
        "--limits",
        choices=("exact", "nearest", "refuse"),
        default="exact",
        help="a limit between two buckets: by the service's own rates, the bucket above, an error (exact)",
    )
    rules.add_argument("--datasource", metavar="UID", help="Grafana's ClickHouse data source")
    silence = parser.add_argument_group("options of silence")
    silence.add_argument("--for", dest="lasts", default="2h", metavar="T", help="how long (2h)")
    silence.add_argument("--comment", default="", metavar="TEXT", help="why")
    silence.add_argument("--by", default="", metavar="NAME", help="who (the user of this machine)")
    silence.add_argument("--end", metavar="ID", help="let this one end now")


def run(args: argparse.Namespace) -> int:
    """Hand over to the part that the first word names; without one list what fires."""
    first, others = (args.words[0], args.words[1:]) if args.words else ("list", [])
    if first not in PARTS:
        raise UsageError(f"no part {first!r}: there are {', '.join(PARTS)}")
    if others and first != "silence":
        raise UsageError(f"alerts {first} takes no further words: {' '.join(others)}")
    code: int = import_module(f"otel_attrib.commands.{PARTS[first]}").run(args, others)
    return code
