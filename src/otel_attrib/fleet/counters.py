"""Samples of the counters in `schema.counters`, from the state and what it made cards and hosts do.

Gauges carry relative noise, totals count exactly; both are read every interval, some not at all, on a clock
that may be off. Baseline rates of errors and of throttling are small and not zero, as in real fleets.
"""

from typing import Any

import numpy as np
import pyarrow as pa

from otel_attrib.analytics.columns import Floats
from otel_attrib.fleet.activity import Activity
from otel_attrib.fleet.cards import card_named
from otel_attrib.fleet.scenario import Scenario
from otel_attrib.fleet.tables import epoch_us
from otel_attrib.fleet.terms import State
from otel_attrib.schema.attributes import HW_ID
from otel_attrib.schema.counters import COUNTERS, Counter

__all__ = ["sample_table"]

_IDLE = 0.02
_UNIFORM_KEYS = (
    "pcie_width",
    "pcie_width_max",
    "pcie_generation",
    "pcie_generation_max",
    "nvlink_links",
    "gpu_power_limit",
)


def sample_table(scenario: Scenario, state: State, activity: Activity, seed: int) -> pa.Table:
    """Return one row a reading, with the columns of `samples`."""
    rng = np.random.default_rng([seed, 7])
    values = _cards(scenario, state, activity, rng) | _hosts(scenario, state, activity, rng)
    blocks = []
    for counter in COUNTERS:
        if counter.key in values and not _unseen(counter, scenario):
            blocks.append((counter, _read(counter, values[counter.key], scenario, rng)))
    return _assemble(scenario, activity.ends, blocks, rng)


def _unseen(counter: Counter, scenario: Scenario) -> bool:
    return counter.key in scenario.sensors.missing or counter.layer in scenario.sensors.missing


def _read(counter: Counter, values: Floats, scenario: Scenario, rng: np.random.Generator) -> Floats:
    """Return what the sensor says: totals as they are, gauges with noise and within what is possible."""
    if counter.kind == "total" or counter.key in _UNIFORM_KEYS:
        return values
    noisy = values * (1 + scenario.sensors.noise * rng.standard_normal(values.shape))
    return np.asarray(np.clip(noisy, 0.0, counter.most))


def _total(rates: Floats, interval: float, rng: np.random.Generator) -> Floats:
    """Count events of these rates."""
    return np.asarray(np.cumsum(rng.poisson(rates * interval), axis=0), dtype=np.float64)


def _cards(scenario: Scenario, state: State, seen: Activity, rng: np.random.Generator) -> dict[str, Floats]:
    card, interval = card_named(scenario.fleet.card), scenario.sensors.interval
    now = {name: state.at(name, seen.ends - interval / 2) for name in _CARD_TERMS}
    shape = seen.busy.shape
    busy = np.clip(seen.busy / interval, 0, 1)
    sm = np.clip((seen.compute + 0.3 * np.maximum(seen.busy - seen.compute, 0)) / interval, 0, 1)
    dram = np.clip(seen.memory / interval, 0, 1)
    clock = np.where(busy < _IDLE, card.idle_clock, card.clock * now["clock"])
    limit = card.power * now["power_limit"]
    drawn = (card.power - card.idle_power) * (0.25 * busy + 0.45 * sm + 0.25 * dram) * now["clock"] ** 1.5
    power = np.minimum(card.idle_power + drawn, limit)
    throttled = np.clip(
        np.maximum(now["throttled"], rng.normal(0.004, 0.004, shape)) * np.maximum(busy, 0.1), 0, 1
    )
    collective = seen.collective_bytes / interval
    ranks = scenario.fleet.tp
    wire = collective * 2 * (ranks - 1) / ranks
    over_pcie = wire if not card.nvlinks else np.zeros(shape)
    jitter = rng.uniform(0.85, 1.0, shape)
    found = {
        "gpu_clock": clock,
        "gpu_throttled": throttled,
        "gpu_throttle_time": np.cumsum(throttled * interval, axis=0),
        "gpu_power": power,
        "gpu_power_limit": limit,
        "gpu_temperature": 30 + 40 * power / card.power + now["heat"],
        "gpu_utilization": np.maximum(busy, now["util_other"]),
        "sm_activity": sm,
        "dram_activity": dram,
        "ecc_errors": np.zeros(shape),
        "remapped_rows": _total(2e-5 + now["ecc"], interval, rng),
        "xid": np.zeros(shape),
        "pcie_receive": seen.copy_bytes / interval + over_pcie + now["pcie_other"] * jitter,
        "pcie_transmit": 0.1 * seen.copy_bytes / interval + over_pcie + 0.8 * now["pcie_other"] * jitter,
        "pcie_replays": _total(1e-3 + now["pcie_replays"], interval, rng),
        "pcie_width": 16 * now["width"],
        "pcie_width_max": np.full(shape, 16.0),
        "pcie_generation": np.where(
            busy < _IDLE, 1.0, np.maximum(card.generation - now["generations_down"], 1)
        ),
        "pcie_generation_max": np.full(shape, float(card.generation)),
        "copy_bytes": np.cumsum(seen.copy_bytes, axis=0),
        "copy_time": np.cumsum(seen.copy_time, axis=0),
    }
    if ranks > 1:
        found["collective_bytes"] = np.cumsum(seen.collective_bytes, axis=0)
        found["collective_time"] = np.cumsum(seen.collective_time, axis=0)
    if card.nvlinks:
        found |= {
            "nvlink_receive": wire + now["nvlink_other"] * jitter,
            "nvlink_transmit": wire + now["nvlink_other"] * jitter,
            "nvlink_links": card.nvlinks - now["links_down"],
            "nvlink_crc": _total(2e-4 + now["nvlink_crc"], interval, rng),
            "nvlink_replays": _total(1e-4 + now["nvlink_replays"], interval, rng),
            "nvlink_recoveries": _total(1e-5 + now["nvlink_recoveries"], interval, rng),
        }
    return found


_CARD_TERMS = (
    "clock",
    "throttled",
    "power_limit",
    "heat",
    "util_other",
    "ecc",
    "pcie_other",
    "pcie_replays",
    "width",
    "generations_down",
    "nvlink_other",
    "links_down",
    "nvlink_crc",
    "nvlink_replays",
    "nvlink_recoveries",
)
_HOST_TERMS = (
    "quota",
    "stall_rate",
    "stall",
    "pressure",
    "cpu_other",
    "steal",
    "cpu_clock",
    "gc",
    "rtt",
    "retransmits",
    "zero_window",
    "send_queue",
)


def _hosts(scenario: Scenario, state: State, seen: Activity, rng: np.random.Generator) -> dict[str, Floats]:
    fleet, interval = scenario.fleet, scenario.sensors.interval
    now = {name: state.at(name, seen.ends - interval / 2)[:, :: fleet.gpus_per_node] for name in _HOST_TERMS}
    shape = seen.cpu.shape
    engines = fleet.gpus_per_node / fleet.tp
    own = (
        seen.cpu + seen.tokenize
    ) / interval / fleet.cores + engines / fleet.cores  # an engine's thread spins
    stolen = now["steal"] * (own * fleet.cores + 2.0)
    pressure = np.maximum(now["pressure"], 0.003 * rng.gamma(1.0, 1.0, shape))

    def total(rates: Floats) -> Floats:
        return np.asarray(np.cumsum(rates * interval, axis=0))

    return {
        "run_queue_wait": np.cumsum(seen.run_queue + 0.01 * (seen.cpu + seen.tokenize), axis=0),
        "off_cpu": total(
            0.02 * rng.gamma(4.0, 0.25, shape) + now["stall_rate"] * now["stall"] * (now["gc"] == 0)
        ),
        "cpu_throttled": total(now["quota"] * engines),
        "cpu_pressure": total(np.minimum(pressure, 1.0)),
        "memory_pressure": total(1e-4 * rng.gamma(1.0, 1.0, shape)),
        "cpu_utilization": np.clip(0.03 + own + now["cpu_other"], 0, 1),
        "cpu_steal": total(stolen),
        "cpu_clock": 2.9e9 * now["cpu_clock"],
        "gc_time": total(0.004 * rng.gamma(2.0, 0.5, shape) + now["gc"] * engines),
        "tokenize_cpu": np.cumsum(seen.tokenize, axis=0),
        "tcp_retransmits": _total(0.3 + now["retransmits"], interval, rng),
        "tcp_rtt": (4e-4 + now["rtt"]) * rng.gamma(40.0, 1 / 40, shape),
        "tcp_zero_window": _total(0.01 + now["zero_window"], interval, rng),
        "send_queue": (2e4 + now["send_queue"]) * rng.gamma(6.0, 1 / 6, shape),
    }


def _assemble(
    scenario: Scenario, ends: Floats, blocks: list[tuple[Counter, Floats]], rng: np.random.Generator
) -> pa.Table:
    """Lay the readings out as rows: a counter after the other, in it a device after the other, by time."""
    fleet, sensors = scenario.fleet, scenario.sensors
    nodes = [f"node-{number}" for number in range(fleet.nodes)]
    phase = rng.uniform(0, min(sensors.interval, 1.0) * 0.2, fleet.nodes)
    skew = np.array([sensors.skew if name in sensors.skewed else 0.0 for name in nodes])
    parts: dict[str, list[Any]] = {name: [] for name in ("time", "metric", "node", "device", "keys", "value")}
    for place, (counter, values) in enumerate(blocks):
        count = values.shape[1]
        node = np.arange(count) // fleet.gpus_per_node if counter.per_device else np.arange(count)
        device = (
            np.arange(count) % fleet.gpus_per_node
            if counter.per_device
            else np.full(count, fleet.gpus_per_node)
        )
        moments = ends[:, None] + (phase + skew)[node][None, :]
        parts["time"].append(np.rint(moments.T.ravel() * 1e6).astype(np.int64))
        parts["value"].append(values.T.ravel())
        parts["metric"].append(np.full(values.size, place))
        parts["node"].append(np.repeat(node, ends.size))
        parts["device"].append(np.repeat(device, ends.size))
    found = {name: np.concatenate(columns) for name, columns in parts.items() if columns}
    devices = [*(f"GPU-{number}" for number in range(fleet.gpus_per_node)), ""]
    return pa.table(
        {
            "time": pa.array(found["time"] + epoch_us(scenario)).cast(pa.timestamp("us", "UTC")),
            "metric": _words([counter.metric for counter, _ in blocks], found["metric"]),
            "node": _words(nodes, found["node"]),
            "device": _words(devices, found["device"]),
            "service": _words([""], np.zeros(found["time"].size)),
            "attributes": _attributes(
                [counter for counter, _ in blocks], found["metric"], devices, found["device"]
            ),
            "value": pa.array(found["value"]),
        }
    )


def _words(labels: list[str], codes: Any) -> pa.Array:
    indices = pa.array(codes.astype(np.int32))
    return pa.DictionaryArray.from_arrays(indices, pa.array(labels)).cast(pa.string())


def _attributes(counters: list[Counter], codes: Any, devices: list[str], device: Any) -> pa.Array:
    """Return what is said beside a value: the card, and what tells counters of one name apart."""
    card = device < len(devices) - 1
    has = np.array([counter.select is not None for counter in counters])[codes]
    offsets = np.concatenate([[0], np.cumsum(card.astype(np.int64) + has)]).astype(np.int32)
    selects = [counter.select or ("", "") for counter in counters]
    keys = np.concatenate([np.zeros(card.sum(), np.int64), codes[has] + 1])
    words = np.concatenate([device[card], codes[has] + len(devices)])
    order = np.argsort(np.concatenate([np.flatnonzero(card) * 2, np.flatnonzero(has) * 2 + 1]), kind="stable")
    names = _words([HW_ID, *(key for key, _ in selects)], keys[order])
    values = _words([*devices, *(word for _, word in selects)], words[order])
    return pa.MapArray.from_arrays(pa.array(offsets), names, values)
