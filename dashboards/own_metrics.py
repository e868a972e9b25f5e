"""Panels on the service's own counters, from a Prometheus that scrapes its /metrics."""

from typing import Final

from otel_attrib.dashboards.palette import BAD, COLORS, QUANTILE_COLORS
from otel_attrib.dashboards.panels import AnyPanel, Said, colored, lines
from otel_attrib.dashboards.target import promql

__all__ = ["panels"]

_EXACT: Final = "exact between scrapes; a restart of the service is a reset that `rate` knows"
# A counter appears with its first count: until then it is 0 where the service was scraped, absent where not.
_NONE_YET: Final = "0 * sum(otel_attrib_spool_bytes)"
_BUCKETS: Final = "linear within the histogram's bucket"


def panels() -> list[AnyPanel]:
    """What comes in, what is refused, what waits in the spool, what the writer does, what is asked."""
    return [_accepted(), _refused(), _spool(), _waiting(), _written(), _lost(), _times(), _queries()]


def _rate(name: str, by: str) -> str:
    return f"sum by ({by}) (rate(otel_attrib_{name}[$__rate_interval]))"


def _accepted() -> AnyPanel:
    said = Said(
        "Spans, data points and log records acknowledged: what is acknowledged is on disk",
        "items a second",
        _EXACT,
    )
    query = promql(_rate("accepted_items_total", "signal"), "{{signal}}")
    return lines("Accepted", said, [query], "short", prometheus=True)


def _refused() -> AnyPanel:
    said = Said("Requests that the receiver refused whole, by reason", "requests a second", _EXACT)
    query = promql(_rate("refused_requests_total", "signal, reason"), "{{signal}}: {{reason}}")
    return lines("Refused", said, [query], "reqps", prometheus=True)


def _spool() -> AnyPanel:
    said = Said(
        "Bytes of the spool on disk, and what it may hold; at the limit the receiver answers 503",
        "bytes",
        "exact",
    )
    queries = [
        promql("sum(otel_attrib_spool_bytes)", "used"),
        promql("sum(otel_attrib_spool_limit_bytes)", "limit", "B"),
        promql("sum(otel_attrib_in_flight_bytes)", "in flight", "C"),
    ]
    panel = lines("Spool", said, queries, "bytes", prometheus=True)
    return colored(panel, {"used": COLORS["blue"], "limit": BAD, "in flight": COLORS["sky"]})


def _waiting() -> AnyPanel:
    said = Said("Items acknowledged and not yet in the store", "items", "exact")
    query = promql("sum by (signal) (otel_attrib_spool_items)", "{{signal}}")
    return lines("Waiting for the store", said, [query], "short", prometheus=True)


def _written() -> AnyPanel:
    said = Said("Items inserted into the store", "items a second", _EXACT)
    query = promql(_rate("written_items_total", "signal"), "{{signal}}")
    return lines("Written", said, [query], "short", prometheus=True)


def _lost() -> AnyPanel:
    said = Said(
        "What went wrong on the way: single items rejected, inserts that failed and were tried "
        "again, items that "
        "the store refuses (quarantined), requests set aside that could not be kept (lost)",
        "a second",
        _EXACT,
    )
    counters = {
        "rejected": "rejected_items_total",
        "failed inserts": "write_failures_total",
        "quarantined": "quarantined_items_total",
        "lost": "lost_requests_total",
    }
    queries = [
        promql(f"sum(rate(otel_attrib_{name}[$__rate_interval])) or {_NONE_YET}", label, ref_id)
        for ref_id, (label, name) in zip("ABCD", counters.items(), strict=True)
    ]
    return lines("Rejected, failed, lost", said, queries, "short", prometheus=True)


def _times() -> AnyPanel:
    said = Said(
        "P99 of one insert into the store, and of one commit of the spool to disk", "seconds", _BUCKETS
    )
    queries = [promql(_p99("write_seconds"), "insert"), promql(_p99("spool_sync_seconds"), "commit", "B")]
    panel = lines("Insert and commit, P99", said, queries, "s", prometheus=True)
    return colored(panel, {"insert": QUANTILE_COLORS["p99"], "commit": COLORS["blue"]})


def _p99(name: str) -> str:
    return f"histogram_quantile(0.99, sum by (le) (rate(otel_attrib_{name}_bucket[$__rate_interval])))"


def _queries() -> AnyPanel:
    said = Said("Statements of the ClickHouse port by what became of them", "statements a second", _EXACT)
    query = promql(_rate("queries_total", "outcome"), "{{outcome}}")
    return lines("Queries", said, [query], "reqps", prometheus=True)
