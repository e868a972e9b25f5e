"""Where a request was served: its node, its cards, and the other engines that serve the same model.

A device set is written `node3:0,1`, `0,1`, `GPU-0,GPU-1`, with UUIDs, or over several nodes as
`node3:0,1;node4:0,1`; a MIG instance is `0:2`, and its card counts too. Where none of the named devices is
known to the counters of a node, all devices of that node stand for them, and `named` is False.
"""

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from otel_attrib.analytics.evidence.series import Readings
from otel_attrib.schema.attributes import GPU_UUID
from otel_attrib.schema.context_counters import EVERY_COUNTER

__all__ = ["Engine", "Place", "devices_of", "engine_of", "uuids"]

Place = tuple[str, str]
"""Node and device; the device is empty for the host."""

SEPARATOR = re.compile(r"[,;+ ]+")
PREFIX = re.compile(r"(?!\d+:)([^:,]+):(.+)")


@dataclass(frozen=True, slots=True)
class Engine:
    """The node whose clock stamped the requests, and the devices as they are named there."""

    node: str
    devices: tuple[Place, ...]

    @property
    def hosts(self) -> tuple[str, ...]:
        """Return its nodes, that of the requests first."""
        return tuple(dict.fromkeys((self.node, *(node for node, _ in self.devices))))

    def cards(
        self, known: Collection[Place], uuid: Mapping[Place, str] | None = None
    ) -> tuple[tuple[Place, ...], bool]:
        """Return its places among the known devices, and whether they are the named ones."""
        found, named = [], True
        for host in self.hosts:
            there = sorted(place for place in known if place[0] == host and place[1])
            asked = {device for node, device in self.devices if node == host}
            mine = [place for place in there if _means(place, asked, (uuid or {}).get(place, ""))]
            if not self.devices or asked:
                named = named and bool(mine)
                found += mine or there
        return tuple(found), named and bool(found)


def engine_of(row: Mapping[str, Any]) -> Engine:
    """Return the engine of a row with `node` and `gpu_set`."""
    node = home = str(row["node"])
    devices = []
    for word in SEPARATOR.split(str(row["gpu_set"] or "")):
        prefix = PREFIX.fullmatch(word)
        if prefix:
            node, word = prefix.groups()
        if word:
            devices.append((node, word))
    return Engine(home, tuple(devices))


def _means(place: Place, asked: set[str], uuid: str) -> bool:
    """Return whether a device is asked for: by index, `GPU-` and index, UUID, its beginning or instance."""
    device = place[1]
    bare = device.removeprefix("GPU-")
    names = {word.removeprefix("GPU-") for word in asked}
    if bare in names or any(word.partition(":")[0] == bare for word in names if ":" in word):
        return True
    return bool(uuid) and any(len(word) > 7 and uuid.startswith(word) for word in asked)


def devices_of(readings: Readings) -> set[Place]:
    """Return every device that a counter of devices was read of."""
    codes = [code for code, counter in enumerate(EVERY_COUNTER) if counter.per_device]
    mine = readings.take(np.isin(readings.counter, codes))
    pairs = np.unique(np.column_stack((mine.node, mine.device)), axis=0).tolist() if mine.size else []
    return {(mine.nodes[node], mine.devices[device]) for node, device in pairs}


def uuids(samples: pa.Table) -> dict[Place, str]:
    """Return the UUID of each device whose samples carry one."""
    found: dict[Place, str] = {}
    for node, device, uuid in _named(samples):
        if uuid and device:
            found[node, device] = uuid
    return found


def _named(samples: pa.Table) -> list[tuple[str, str, str]]:
    if not samples.num_rows or "attributes" not in samples.column_names:
        return []
    few = samples.filter(pc.is_in(pc.cast(samples["metric"], pa.string()), pa.array(SLOW_METRICS)))
    rows = zip(*(few[name].to_pylist() for name in ("node", "device", "attributes")), strict=True)
    return [(node, device, dict(said).get(GPU_UUID, "")) for node, device, said in rows]


SLOW_METRICS = ["hw.gpu.memory.limit", "hw.status"]
"""Counters read once a minute, on which a device's UUID stands."""
