"""`alerts run`: look for incidents and tell, beside a service or over a ClickHouse store, until stopped."""

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace

from otel_attrib.errors import UsageError

__all__ = ["run"]


def run(args: argparse.Namespace, words: Sequence[str]) -> int:
    """Look until SIGTERM or Ctrl-C; what goes wrong is told on standard error."""
    import logging
    import threading

    from otel_attrib.analytics.alerting import Evaluator
    from otel_attrib.commands.stopping import raises
    from otel_attrib.config import load
    from otel_attrib.schema.reports import into_receiver, into_store
    from otel_attrib.schema.store import chosen, connect

    settings = load(slo=args.slo)
    if not (settings.alertmanager or settings.webhooks):
        raise UsageError("there is nobody to tell: set OTEL_ATTRIB_ALERTMANAGER or OTEL_ATTRIB_WEBHOOKS")
    form = "%(asctime)s %(levelname)s %(message)s"
    logging.basicConfig(level=logging.WARNING, stream=sys.stderr, format=form)
    dsn, url = chosen(args.dsn, args.url)
    with connect(dsn, url) as store:
        keep = into_receiver(url) if url else into_store(store)
        evaluator = Evaluator(replace(settings, alerts="on"), lambda: store, url or "", lambda _: keep)
        try:
            with raises():
                evaluator.start()
                print("looking for incidents; Ctrl-C stops it", flush=True)
                threading.Event().wait()
        except KeyboardInterrupt:
            pass
        finally:
            evaluator.stop(5.0)
    return 0
