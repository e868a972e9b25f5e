"""The options that name a latency, its quantile, the requests meant and the time."""

import argparse

__all__ = ["add_question_arguments", "add_where_arguments"]

METRICS = ("ttft", "tpot", "tbt", "e2e")


def add_question_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--metric`, `--quantile`, `--where` and `--at`."""
    parser.add_argument("--metric", choices=METRICS, default="ttft", help="which latency (ttft)")
    parser.add_argument(
        "--quantile",
        type=float,
        default=0.99,
        metavar="Q",
        help="strictly between 0 and 1 (0.99, which is P99)",
    )
    add_where_arguments(parser)


def add_where_arguments(parser: argparse.ArgumentParser) -> None:
    """Add `--where` and `--at`."""
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="K=V",
        help="only requests with this value of a dimension (model, tenant, node, …); repeatable",
    )
    parser.add_argument(
        "--at", default="now", metavar="TIME", help="windows reach back from now, newest, or a time (now)"
    )
