"""`alerts test`: one alert, marked as a test, to everybody who is told; what each answered."""

import argparse
from collections.abc import Sequence

from otel_attrib.errors import UsageError

__all__ = ["run"]


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Send it; exit code 1 when somebody did not take it."""
    from datetime import UTC, datetime

    from otel_attrib.analytics.alerting.links import Links
    from otel_attrib.analytics.alerting.making import Maker
    from otel_attrib.analytics.alerting.meters import Meters
    from otel_attrib.analytics.alerting.targets import Targets
    from otel_attrib.commands.printable import json_line, printable
    from otel_attrib.config import load

    settings = load()
    targets = Targets.of(settings, Meters())
    if not targets:
        raise UsageError("there is nobody to tell: set OTEL_ATTRIB_ALERTMANAGER or OTEL_ATTRIB_WEBHOOKS")
    maker = Maker(Links.of(settings, args.url or ""), labels=dict(settings.alert_labels))
    alert = maker.test(datetime.now(UTC).replace(microsecond=0))
    answers = targets.test(alert)
    if args.json:
        items = [{"target": name, "taken": answer.taken, "answer": str(answer)} for name, answer in answers]
        print(json_line({"schema": "otel-attrib/alerts-test/1", "items": items}))
    else:
        taken = sum(answer.taken for _, answer in answers)
        print(f"{taken} of {len(answers)} took the test alert {alert.incident}")
        for name, answer in answers:
            print(printable(f"  {name}: {'taken' if answer.taken else 'NOT taken'} ({answer})"))
    return 0 if all(answer.taken for _, answer in answers) else 1
