"""What cards and host did while a request was served, read from the node's board when its span is built.

Runs off the engine's threads and only maps a file: no agent, no board, an old one, another boot's or another
user's mean that nothing is added, never an error. Readings count where they stand for half of the request
at least: a request of 50 ms is not told what the 100 ms around it were like.
"""

from collections.abc import Iterable, Sequence
from functools import lru_cache
from pathlib import Path
from time import monotonic_ns
from typing import Final

from otel_attrib.schema import attributes as names
from otel_attrib.schema.board import Reader, Stretch, places

__all__ = ["cards_of", "indices", "seen"]

LEAST_COVERAGE = 0.5
STALE_NS = 5_000_000_000
AGAIN_NS = 2_000_000_000
"""How long after a look for a board the next one is."""

_MEANS: Final = {
    "sm_activity": names.SM_UTILIZATION,
    "sm_occupancy": names.SM_OCCUPANCY,
    "dram_activity": names.DRAM_UTILIZATION,
    "gpu_utilization": names.GPU_UTILIZATION,
}


class _Board:
    """The board of this node, looked for again while there is none or it has stopped."""

    def __init__(self) -> None:
        self._reader: Reader | None = None
        self._looked: int | None = None

    def reader(self) -> Reader | None:
        now = monotonic_ns()
        if self._looked is None or now - self._looked > AGAIN_NS:
            self._looked = now
            if self._reader is None or now - self._reader.newest() > STALE_NS:
                self._reader = _found(now)
        return self._reader


_BOARD = _Board()


def _found(now: int) -> Reader | None:
    """Return the first board that is being written; else the newest readable one has nothing to say."""
    for path in places():
        try:
            reader = Reader(Path(path))
        except (OSError, ValueError):
            continue
        if now - reader.newest() <= STALE_NS:
            return reader
    return None


def seen(start: int, end: int, devices: str) -> dict[str, float]:
    """Return the attributes of what was read between two monotonic times (ns).

    `devices` is the request's set as `gpu_set` names it. Means are over time, then over its cards; of clock
    and throttling the worst card counts.
    """
    reader = _BOARD.reader()
    if reader is None or end <= start:
        return {}
    coverages: list[float] = []
    cards = [_read(reader.between(card, start, end), coverages) for card in _cards(reader, devices)]
    host = _read(reader.between("", start, end), coverages)
    found = _of_cards(cards)
    if "run_queue_wait" in host:
        found[names.RUN_QUEUE_WAIT_US] = host["run_queue_wait"] * (end - start) / 1e3
    if found:
        found[names.EVIDENCE_COVERAGE] = min(1.0, *coverages)
    return found


def indices(devices: str) -> str:
    """Return `CUDA_VISIBLE_DEVICES` with each UUID as the index that counters have it under, where known."""
    words = [word.strip() for word in devices.split(",")]
    if not any(word.startswith(("GPU-", "MIG-")) for word in words):
        return devices
    reader = _BOARD.reader()
    known = reader.devices() if reader is not None else {}
    return ",".join(_index(word, known) for word in words)


@lru_cache(maxsize=16)
def cards_of(devices: str) -> tuple[str, ...]:
    """Return the cards of a device set: `node3:0,1` and `GPU-0,GPU-1` are 0 and 1, `node3:0:2` is 0:2."""
    node, colon, after = devices.partition(":")
    words = (after if colon and not node.isdigit() else devices).split(",")
    return tuple(word.strip().removeprefix("GPU-") for word in words if word.strip())


def _cards(reader: Reader, devices: str) -> Iterable[str]:
    """Return the request's cards; the only one of the node where the set is not known."""
    named = cards_of(devices)
    if named:
        return named
    only = {card for card in reader.cards() if ":" not in card}
    return only if len(only) == 1 else ()


def _index(word: str, known: dict[str, str]) -> str:
    """Return the index of one UUID, of which CUDA takes a beginning that is unique; else the UUID itself."""
    if word.startswith("MIG-GPU-"):  # MIG-GPU-<uuid>/<GPU instance>/<compute instance>, up to driver 450
        card, _, instance = word.removeprefix("MIG-").partition("/")
        parent = _index(card, known)
        return f"{parent}:{instance.partition('/')[0]}" if parent != card else word
    found = {index for uuid, index in known.items() if uuid.startswith(word)}
    return found.pop() if len(found) == 1 else word


def _read(stretches: Sequence[Stretch], coverages: list[float]) -> dict[str, float]:
    """Return the mean of each field over the time read, of stretches that cover enough."""
    found: dict[str, float] = {}
    for stretch in stretches:
        if stretch.coverage >= LEAST_COVERAGE and stretch.known > 0:
            coverages.append(stretch.coverage)
            found |= {name: grown / stretch.known for name, grown in stretch.grown.items()}
    return found


def _of_cards(cards: Sequence[dict[str, float]]) -> dict[str, float]:
    found: dict[str, float] = {}
    for name, attribute in _MEANS.items():
        if values := [card[name] for card in cards if name in card]:
            found[attribute] = sum(values) / len(values)
    if clocks := [card["gpu_clock"] for card in cards if "gpu_clock" in card]:
        found[names.SM_CLOCK_MHZ] = min(clocks)
    if throttled := [card["gpu_throttled"] for card in cards if "gpu_throttled" in card]:
        found[names.GPU_THROTTLED] = min(1.0, max(throttled))
    return found
