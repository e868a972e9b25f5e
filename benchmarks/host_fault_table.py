"""The figures of `host_faults` as two tables."""

from collections.abc import Sequence

from benchmarks.host_fault_figures import Agreement, Result, Told

__all__ = ["table"]

TOLD = (
    f"{'fault':<6}{'by':<16}{'hit':>5}{'others':>7}{'hit P50':>9}{'P90':>7}{'others P50':>11}{'P90':>7}"
    f"{'above all':>10}{'off edges':>10}{'AUC':>8}{'misplaced':>10}{'at edges':>9}"
)
AGREED = (
    f"{'fault':<6}{'of':<8}{'eBPF':>9}{'schedstat':>11}{'apart':>8}{'worst stretch':>14}"
    f"{'request P50':>12}{'P90':>7}{'disjoint':>9}"
)


def table(results: Sequence[Result]) -> str:
    """Return how well each measure tells hit requests, then how far both sources agree."""
    rows = ["ms of wait in each ms of a request", TOLD]
    for each in results:
        rows += [_told(each.fault, name, told) for name, told in each.told.items()]
    rows += ["", "run-queue wait while the fault was on", AGREED]
    for each in results:
        rows += [_agreed(each.fault, of, found) for of, found in each.agreement.items()]
    return "\n".join(rows)


def _told(fault: str, name: str, told: Told) -> str:
    return (
        f"{fault:<6}{name:<16}{told.hit.requests:>5}{told.others.requests:>7}{told.hit.median:>9.3f}"
        f"{told.hit.p90:>7.2f}{told.others.median:>11.3f}{told.others.p90:>7.2f}{_share(told.above):>10}"
        f"{_share(told.above_off_edges):>10}{told.auc:>8.4f}{told.misplaced:>10}{told.misplaced_at_edge:>9}"
    )


def _share(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _agreed(fault: str, of: str, found: Agreement) -> str:
    return (
        f"{fault:<6}{of:<8}{found.seconds:>7.2f} s{found.other_seconds:>9.2f} s{found.total:>8.2%}"
        f"{found.stretch:>14.2%}{found.request:>12.2%}{found.request_p90:>7.1%}{found.disjoint:>9}"
    )
