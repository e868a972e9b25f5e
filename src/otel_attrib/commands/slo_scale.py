"""`slo scale NAME`: an objective's threshold as HorizontalPodAutoscaler or KEDA ScaledObject, in YAML."""

import argparse
from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from otel_attrib.analytics.objectives import Limit, Objective

__all__ = ["add_arguments", "run"]


def add_arguments(group: "argparse._ArgumentGroup") -> None:
    """Declare the options."""
    group.add_argument("--format", choices=("hpa", "keda"), default="hpa", help="(hpa)")
    group.add_argument("--deployment", metavar="D", help="what is scaled")
    group.add_argument("--min", type=int, default=1, metavar="N", help="replicas at least (1)")
    group.add_argument("--max", type=int, default=8, metavar="N", help="replicas at most (8)")
    group.add_argument("--namespace", default="", metavar="NS", help="of the deployment (none written)")
    group.add_argument(
        "--source",
        choices=("external", "pods", "prometheus", "api"),
        help="where the number comes from: external or pods (hpa), prometheus or api (keda)",
    )
    group.add_argument(
        "--server", default="", metavar="URL", help="Prometheus, or this service, as KEDA sees it"
    )
    group.add_argument("--auth", default="", metavar="NAME", help="TriggerAuthentication with a bearer token")
    group.add_argument("--threshold", type=float, metavar="MS", help="instead of the one in force")


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Print the manifest; the store is asked for the threshold in force unless one is given."""
    from otel_attrib.analytics.control.scaling import SOURCES, Target, hpa, keda, manifest_text
    from otel_attrib.commands.printable import json_line, printable
    from otel_attrib.commands.slo_file import named, objectives_of_file
    from otel_attrib.errors import UsageError

    if len(words) != 1 or not args.deployment:
        raise UsageError("otel-attrib slo scale NAME --deployment D: one objective, one deployment")
    (objective,) = named(objectives_of_file(args.file), words)
    source = args.source or SOURCES[args.format][0]
    if source not in SOURCES[args.format]:
        raise UsageError(f"--source {source} is none of {args.format}: {' or '.join(SOURCES[args.format])}")
    limit = _limit(objective, args.metric)
    target = Target(
        objective,
        limit,
        _threshold(objective, limit, args),
        args.deployment,
        args.min,
        args.max,
        args.namespace,
        args.server,
        auth=args.auth,
    )
    manifest = (hpa if args.format == "hpa" else keda)(target, source)
    print(json_line(manifest) if args.json else printable(manifest_text(manifest, target, source)), end="")
    return 0


def _limit(objective: "Objective", metric: str) -> "Limit":
    """Return the latency that is meant: the one of --metric, else the only one there is."""
    from otel_attrib.errors import UsageError

    found = [limit for limit in objective.limits if limit.metric == metric]
    if not found and len(objective.limits) > 1:
        names = ", ".join(limit.metric for limit in objective.limits)
        raise UsageError(f"objective {objective.name} limits {names}: choose with --metric")
    return found[0] if found else objective.limits[0]


def _threshold(objective: "Objective", limit: "Limit", args: argparse.Namespace) -> float:
    from math import isfinite

    from otel_attrib.analytics.control.judged import thresholds_in_force
    from otel_attrib.analytics.filters import EVERY_REQUEST
    from otel_attrib.analytics.question import end_of
    from otel_attrib.errors import UsageError
    from otel_attrib.schema.store import connect

    if args.threshold is not None:
        if not (args.threshold > 0 and isfinite(args.threshold)):
            raise UsageError(f"--threshold {args.threshold:g} is no time in ms")
        return float(args.threshold)
    with connect(args.dsn, args.url) as store:
        force = thresholds_in_force(store, [objective], end_of(store, args.at, EVERY_REQUEST))
    return force[objective.name, limit.metric].ms
