"""One card as it is found: handle, identity, the fields that it answers, its links and its MIG instances.

What a card or its driver lacks is found out here, once, and is absent after; a card that comes back from a
reset is asked anew.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

from otel_attrib.collector.sources.nvml_block import FieldBlock
from otel_attrib.collector.sources.nvml_gpm import gpm_supported
from otel_attrib.collector.sources.nvml_library import GONE, Library
from otel_attrib.collector.sources.nvml_nvlink import Links, links_of
from otel_attrib.collector.sources.nvml_nvlink import wanted_fields as wanted_link_fields
from otel_attrib.collector.sources.nvml_outputs import Notices
from otel_attrib.collector.sources.nvml_throttle import REASONS, chosen_fields
from otel_attrib.schema.pcie import link_bytes

__all__ = [
    "BYTES_IN",
    "BYTES_OUT",
    "Answer",
    "Card",
    "Instance",
    "mig_changed",
    "open_card",
    "throttle_fields",
]

BYTES_IN: Final = (198, 0)
BYTES_OUT: Final = (197, 0)
"""PCIe bytes to the card and from it, since the driver was loaded; 32 bits on some drivers."""

_DEVICE_FIELDS: Final = (3, 4, 82, 83, 94, 142, 143, 145, 169, 186, 230)
_LEAST_A_CALL: Final = 16
_WIDE: Final = frozenset({2, 3, 4})


@dataclass(frozen=True)
class Answer:
    """A field's value type and what it said when the card was opened."""

    type: int
    value: float

    @property
    def wide(self) -> bool:
        """Whether it has 64 bits."""
        return self.type in _WIDE


@dataclass(frozen=True)
class Instance:
    """A MIG GPU instance: `device` is its `hw.id`, card and instance."""

    number: int
    device: str
    handle: Any
    uuid: str


@dataclass(frozen=True)
class Card:
    """A card that answers: `device` is its `hw.id`, the index under which NVML lists it."""

    index: int
    device: str
    handle: Any
    uuid: str
    name: str
    answers: Mapping[tuple[int, int], Answer]
    links: Links
    gpm: bool
    pcie_most: float
    mig: bool = False
    instances: tuple[Instance, ...] = field(default=())

    @property
    def pcie_by_field(self) -> bool:
        """Whether PCIe rates come from byte counters: always where they have 64 bits, else without GPM."""
        found = [self.answers.get(place) for place in (BYTES_IN, BYTES_OUT)]
        return all(answer is not None for answer in found) and (
            not self.gpm or all(answer is not None and answer.wide for answer in found)
        )

    @property
    def nvlink_by_field(self) -> bool:
        """Whether NVLink rates come from the links' byte counters; one that is down may have none."""
        return any(link.bytes_in and link.bytes_out for link in self.links.links)


def open_card(library: Library, index: int, notices: Notices) -> Card | None:
    """Open a card and ask what it has; None for one that this user may not use. NVMLError: it is gone."""
    nv, device = library.nv, str(index)
    try:
        handle = nv.nvmlDeviceGetHandleByIndex(index)
    except nv.NVMLError as fault:
        if fault.value in GONE:
            raise
        notices.say(f"GPU {device}: cannot be opened, the others are read: {fault}")
        return None
    answers = _answers(library, handle)
    mig = _mig_on(library, handle)
    return Card(
        index=index,
        device=device,
        handle=handle,
        uuid=str(library.ask("nvmlDeviceGetUUID", handle) or ""),
        name=str(library.ask("nvmlDeviceGetName", handle) or ""),
        answers=answers,
        links=links_of(library, handle, {place: answer.value for place, answer in answers.items()}),
        gpm=not mig and gpm_supported(library, handle),
        pcie_most=link_bytes(
            library.ask("nvmlDeviceGetMaxPcieLinkGeneration", handle) or 0,
            library.ask("nvmlDeviceGetMaxPcieLinkWidth", handle) or 0,
        ),
        mig=mig,
        instances=_instances(library, handle, device) if mig else (),
    )


def _answers(library: Library, handle: Any) -> dict[tuple[int, int], Answer]:
    device = [*_DEVICE_FIELDS, *(number for numbers in REASONS.values() for number in numbers)]
    wanted = [BYTES_IN, BYTES_OUT, *((number, 0) for number in device), *wanted_link_fields()]
    found: dict[tuple[int, int], Answer] = {}
    start = 0
    while start < len(wanted):
        some = wanted[start : start + library.fields_a_call]
        found |= _ask_fields(library, handle, some)
        start += len(some)
    return found


def _ask_fields(
    library: Library, handle: Any, wanted: Sequence[tuple[int, int]]
) -> dict[tuple[int, int], Answer]:
    function = library.function("nvmlDeviceGetFieldValues")
    if function is None:
        return {}
    block = FieldBlock(function, len(wanted))
    block.add(0, handle, wanted)
    block.seal()
    block.read()
    for gone in block.gone:
        raise library.nv.NVMLError(gone.code)
    if block.refused and len(wanted) > 1:
        half = len(wanted) // 2
        library.fields_a_call = max(_LEAST_A_CALL, min(half, library.fields_a_call))
        return _ask_fields(library, handle, wanted[:half]) | _ask_fields(library, handle, wanted[half:])
    return {
        place: Answer(int(kind), float(value))
        for place, kind, value, good in zip(wanted, block.types, block.values, block.good, strict=True)
        if good
    }


def _mig_on(library: Library, handle: Any) -> bool:
    mode = library.ask("nvmlDeviceGetMigMode", handle)
    return bool(mode and mode[0] == library.nv.NVML_DEVICE_MIG_ENABLE)


def mig_changed(library: Library, card: Card) -> bool:
    """Whether the card was partitioned anew, or no longer is, since it was opened."""
    mig = _mig_on(library, card.handle)
    found = _instances(library, card.handle, card.device) if mig else ()
    return mig != card.mig or [part.uuid for part in found] != [part.uuid for part in card.instances]


def _instances(library: Library, handle: Any, device: str) -> tuple[Instance, ...]:
    """Each GPU instance once: its compute instances share memory and SMs."""
    found: dict[int, Instance] = {}
    for place in range(library.ask("nvmlDeviceGetMaxMigDeviceCount", handle) or 0):
        part = library.ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, place)
        number = None if part is None else library.ask("nvmlDeviceGetGpuInstanceId", part)
        if number is not None and number not in found:
            uuid = str(library.ask("nvmlDeviceGetUUID", part) or "")
            found[number] = Instance(number, f"{device}:{number}", part, uuid)
    return tuple(found.values())


def throttle_fields(card: Card) -> dict[str, int]:
    """Return reason → field of its cumulative nanoseconds; empty on cards and drivers without them."""
    return chosen_fields(
        {number: answer.type for (number, scope), answer in card.answers.items() if scope == 0}
    )
