"""Samples that the store holds already, left out so that a profile imported twice adds nothing."""

from collections.abc import Sequence

from otel_attrib.collector.imports.samples import Sample
from otel_attrib.schema import attributes as names
from otel_attrib.schema.store import Store

__all__ = ["without_known_samples"]

_KNOWN = """
SELECT metric, node, device, toUnixTimestamp64Micro(time) AS us, attributes
FROM samples
WHERE metric IN {metrics:Array(String)} AND node IN {nodes:Array(String)}
  AND time >= fromUnixTimestamp64Micro({low:Int64}, 'UTC')
  AND time <= fromUnixTimestamp64Micro({high:Int64}, 'UTC')
"""
Key = tuple[str, str, str, int, tuple[tuple[str, str], ...]]


def without_known_samples(store: Store, samples: Sequence[Sample]) -> list[Sample]:
    """Return the samples whose metric, place, time (to the µs that is stored) or attributes are new."""
    if not samples:
        return []
    times = [sample.ns // 1000 for sample in samples]
    values = {
        "metrics": sorted({sample.metric for sample in samples}),
        "nodes": sorted({sample.node for sample in samples}),
        "low": min(times),
        "high": max(times),
    }
    held: set[Key] = {
        (row["metric"], row["node"], row["device"], row["us"], tuple(sorted(row["attributes"].items())))
        for row in store.rows(_KNOWN, values)
    }
    return [sample for sample in samples if _key(sample) not in held]


def _key(sample: Sample) -> Key:
    said = dict(sample.more)
    if sample.device:
        said[names.HW_ID] = sample.device
    if sample.select:
        said |= dict([sample.select])
    return sample.metric, sample.node, sample.device, sample.ns // 1000, tuple(sorted(said.items()))
