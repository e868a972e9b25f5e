"""Start an LLM server with instrumentation on, and say whether its spans arrive.

The server's code and environment stay as they are; its own process runs in place of this one.
Settings of the standard OTEL_* variables are respected.
"""

import argparse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options; everything after `--` is the server's command."""
    parser.epilog = "example: otel-attrib run --service chat -- vllm serve Qwen/Qwen3-0.6B"
    parser.add_argument(
        "--otlp",
        metavar="URL",
        help="where spans go (default: OTEL_EXPORTER_OTLP_ENDPOINT, else http://127.0.0.1:4317)",
    )
    parser.add_argument(
        "--service", metavar="NAME", help="service.name (default: OTEL_SERVICE_NAME, else vllm)"
    )
    parser.add_argument("--sla", metavar="FILE", help="rules that promise a deadline per model or tenant")
    parser.add_argument("--timeline", action="store_true", help="keep the gap before every token")
    parser.add_argument("server", nargs="*", metavar="-- COMMAND", help="the server, as you start it now")


def run(args: argparse.Namespace) -> int:
    """Become the server."""
    from otel_attrib.instrumentation import launch

    return launch.run(args.server, launch.Options(args.otlp, args.service, args.sla, args.timeline))
