"""What one device's kernels, copies and collectives are held against: one call for all three."""

from dataclasses import dataclass

from otel_attrib.analytics.profiles.cards import Card, card_of
from otel_attrib.analytics.profiles.collectives import CollectiveUse, collectives_of
from otel_attrib.analytics.profiles.link_use import LinkUse, link_uses
from otel_attrib.analytics.profiles.links import Link
from otel_attrib.analytics.profiles.roofline import ClassRoof, RuleOfThumb, roofline, rule_of_thumb
from otel_attrib.analytics.profiles.timeline import Profile

__all__ = ["Limits", "limits"]


@dataclass(frozen=True, slots=True)
class Limits:
    """One device; `card` is None when it is none whose published figures are known."""

    device: int
    name: str
    card: Card | None
    roofs: list[ClassRoof]
    rule: RuleOfThumb | None
    links: list[LinkUse]
    collectives: list[CollectiveUse]


def limits(profile: Profile, card: Card | None = None, link: Link | None = None) -> list[Limits]:
    """Return every device on which anything ran; `card` and `link` go before what the file says."""
    return [_limits(profile, device, card, link) for device in profile.used_devices]


def _limits(profile: Profile, device: int, card: Card | None, link: Link | None) -> Limits:
    card = card or card_of(profile.device(device))
    roofs = roofline(profile, device, card)
    return Limits(
        device=device,
        name=profile.device(device).name,
        card=card,
        roofs=roofs,
        rule=rule_of_thumb(roofs),
        links=link_uses(profile, device, card, link),
        collectives=collectives_of(profile, device, card),
    )
