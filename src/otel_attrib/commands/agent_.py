"""Read this machine's counters and send them as OTLP metrics.

GPU, PCIe and NVLink through NVML; scheduler, cgroups, pressure and network of the
host; eBPF where it may: for the processes of an LLM server, which it finds by
itself. Nothing is changed on the machine, and what it lacks is left out. Its own
cost is kept below --budget: else the costliest source is read less often.

`otel-attrib up` does the same for its own machine; run this on every other one.
Readings go to --endpoint, else to OTEL_EXPORTER_OTLP_ENDPOINT (a bearer token in
OTEL_EXPORTER_OTLP_HEADERS), else to http://127.0.0.1:4318, and wait in memory
while nobody takes them. SIGTERM or Ctrl-C sends the rest and ends.
"""

import argparse
import sys
from typing import TYPE_CHECKING

from otel_attrib.errors import MissingExtra, UsageError

if TYPE_CHECKING:
    from otel_attrib.collector.agent.agent import Plan
    from otel_attrib.config import Settings

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; those not given come from the environment, a file or the default."""
    parser.epilog = (
        "example: otel-attrib agent --once\n"
        "         otel-attrib agent --endpoint http://collector:4318\n"
        "         otel-attrib agent --sources nvml,schedstat --every nvml=1s\n"
        "         otel-attrib agent --once --scrape http://127.0.0.1:9400/metrics"
    )
    parser.add_argument("--sources", metavar="A,B", help="read only these (all that this machine has)")
    parser.add_argument("--every", metavar="A=T,B=T", help="how often a source is read, such as nvml=1s")
    parser.add_argument("--endpoint", metavar="URL", help="where readings go (http://127.0.0.1:4318)")
    parser.add_argument(
        "--pid", type=int, action="append", metavar="N", help="watch this process and its children, no others"
    )
    parser.add_argument(
        "--scrape",
        metavar="URL[=KIND]",
        action="append",
        help="read this Prometheus page too (docs/scrape.md)",
    )
    parser.add_argument("--budget", metavar="SHARE", help="what it may take of one core (1%%)")
    parser.add_argument("--once", action="store_true", help="print what this machine says now, send nothing")
    parser.add_argument("--list", action="store_true", help="print the sources and how often they are read")
    parser.add_argument("--json", action="store_true", help="with --once or --list: print JSON")


def run(args: argparse.Namespace) -> int:
    """Read and send until a signal comes, or print once."""
    from otel_attrib.config import load

    settings = load(
        agent_sources=args.sources, agent_every=args.every, agent_budget=args.budget, scrape=args.scrape
    )
    try:
        import numpy  # noqa: F401  # a base install lacks it, and the fault should name the extra
    except ImportError as missing:
        raise MissingExtra("otel-attrib agent", "agent") from missing
    from otel_attrib.collector.agent.agent import plan_of
    from otel_attrib.commands import agent_service, agent_table

    plan = plan_of(settings)
    if args.pid:
        _watch(args.pid)
    _scrape(settings, plan)
    if args.list:
        return agent_table.print_catalogue(plan, args.json)
    if args.once:
        return agent_table.print_once(plan, args.json)
    if args.json:
        raise UsageError("--json goes with --once or --list: readings go to --endpoint")
    agent_service.log_to(sys.stderr)
    return agent_service.serve(settings, args.endpoint)


def _scrape(settings: "Settings", plan: "Plan") -> None:
    from otel_attrib.collector.agent.catalogue import chosen
    from otel_attrib.collector.sources.scrape.endpoints import shared_endpoints

    if settings.scrape and "scrape" not in chosen(plan.sources):
        raise UsageError("--scrape is read by the source scrape, which --sources leaves out")
    shared_endpoints().give(settings.scrape, settings.scrape_token)


def _watch(pids: list[int]) -> None:
    from pathlib import Path

    from otel_attrib.collector.agent.processes import shared_processes

    for pid in pids:
        if not Path(f"/proc/{pid}").exists():
            raise UsageError(f"--pid {pid}: there is no such process")
    shared_processes().watch(pids, only=True)
