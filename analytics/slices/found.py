"""Where a change of the tail sits: the answer of the slice scan."""

from dataclasses import dataclass

from otel_attrib.analytics.columns import Flags

__all__ = ["Slice", "Slices"]


@dataclass(frozen=True, slots=True)
class Slice:
    """Requests that share the values in `where` and got slower than the rest did.

    `where` can be typed as `--where`, but for `gpu`, which is `node:device`. requests, exceedances: of
    the current window. share_of_excess: of the exceedances beyond the expected, over all requests.
    p: how often blocks of time dealt out at random give any slice as strong a score.
    """

    where: dict[str, str]
    requests: int
    exceedances: int
    share_of_excess: float
    p: float


@dataclass(frozen=True, slots=True)
class Slices:
    """At most three slices, the strongest first; `hit` is (n_B,), the current rows that are affected.

    global_: the requests outside the slices got slower too and hold most of the excess; then every row
    is hit. complement_share: their share of the excess. excess: exceedances beyond the expected.
    """

    slices: tuple[Slice, ...]
    global_: bool
    hit: Flags
    complement_share: float
    excess: float
