"""What links carry, against the figures that their standards and makers publish."""

import pytest

from otel_attrib.analytics.profiles.links import Link, parse_link
from otel_attrib.errors import UsageError


@pytest.mark.parametrize(
    ("link", "gb_per_s"),
    [
        (Link("pcie", 1, 16), 4.0),
        (Link("pcie", 2, 16), 8.0),
        (Link("pcie", 3, 16), 15.75),
        (Link("pcie", 4, 16), 31.5),
        (Link("pcie", 5, 16), 63.0),
        (Link("pcie", 6, 16), 121.0),
        (Link("pcie", 4, 8), 15.75),
        (Link("nvlink", 3, 12), 300.0),
        (Link("nvlink", 4, 18), 450.0),
        (Link("nvlink", 5, 18), 900.0),
        (Link("xgmi", 3, 7), 448.0),
    ],
    ids=str,
)
def test_published_rates(link: Link, gb_per_s: float) -> None:
    """One direction of a link carries what PCI-SIG, NVIDIA and AMD print for it."""
    assert gb_per_s == pytest.approx(link.bytes_per_second / 1e9, rel=1e-3)


@pytest.mark.parametrize("word", ["pcie4x16", "NVLINK4x18", "xgmi3x7"])
def test_written_as_read(word: str) -> None:
    """A link is written as `--link` takes it."""
    assert word.lower() == str(parse_link(word))


@pytest.mark.parametrize("word", ["pcie", "pcie9x16", "pcie4x0", "usb3x1", "pcie4x16 fast"])
def test_refuses_what_is_no_link(word: str) -> None:
    """What cannot be is refused with what can."""
    with pytest.raises(UsageError, match="write pcie<generation>x<lanes>"):
        parse_link(word)
