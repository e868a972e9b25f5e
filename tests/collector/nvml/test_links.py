"""NVLink: state, bytes, errors and rate, in the three generations of counters."""

from typing import Any

import pytest


def hopper(links: int, card: int = 0) -> list[str]:
    """Lines of a card with Hopper's counters: 10 KiB/s out of link 0, twice as much out of link 1, …"""
    lines = []
    for link in range(links):
        scope = f".{link}" if link else ""
        for name, kind in (
            (164, "uint 26562"),
            (165, "uint 1"),
            (161, "ull 3"),
            (162, "ull 2"),
            (163, "ull 1"),
        ):
            lines.append(f"gpu {card} field.{name}{scope} {kind}")
        for name in (138, 139):
            lines.append(f"gpu {card} field.{name}{scope} ull 1000")
            lines.append(f"gpu {card} grow.field.{name}{scope} {10 * (link + 1) * (name - 137)}")
    return lines


def test_links_of_hopper(fake: Any, plain_card: Any, told_of: Any) -> None:
    """KiB of each link become bytes, their sum is the card's rate, errors stand per link."""
    fake.script("gpus 1", *plain_card(), *hopper(4))
    source = fake.source()
    source.read()
    fake.at(10)
    told = told_of(source.read())

    assert 100 * 1024 == pytest.approx(told["nvlink_transmit", "0", ""])
    assert 200 * 1024 == pytest.approx(told["nvlink_receive", "0", ""])
    assert (1000 + 300) * 1024 == told["nvlink_bytes_out", "0", "slatag.link=2"]
    assert [1.0, 3.0, 2.0] == [
        told[key, "0", "slatag.link=3"] for key in ("nvlink_crc", "nvlink_replays", "nvlink_recoveries")
    ]
    assert 4.0 == told["nvlink_links", "0", ""]


def test_a_driver_that_takes_few_fields_a_call(fake: Any, plain_card: Any, told_of: Any) -> None:
    """The same readings in more calls."""
    fake.script("gpus 1", *plain_card(), *hopper(18))
    all_at_once = told_of(fake.source().read())
    fake.script("gpus 1", *plain_card(), *hopper(18), "gpu 0 most_fields 33")

    assert 18.0 == all_at_once["nvlink_links", "0", ""]
    assert all_at_once == told_of(fake.source().read())


def test_a_link_that_drops(
    fake: Any, plain_card: Any, told_of: Any, caplog: pytest.LogCaptureFixture
) -> None:
    """One link less, its state 0, the rate that of the others, and one line; the same when it is back."""
    fake.script(
        "gpus 1",
        *plain_card(),
        *hopper(3),
        "at 2",
        "gpu 0 field.165.1 uint 0",
        "gpu 0 field.139.1 fails 3",
        "gpu 0 field.138.1 fails 3",
        "at 4",
        "gpu 0 field.165.1 uint 1",
    )
    source = fake.source()
    seen = []
    for second in (0, 1, 2, 3, 4):
        fake.at(second)
        told = told_of(source.read())
        rate = told.get(("nvlink_receive", "0", ""))
        seen.append(
            (told["nvlink_links", "0", ""], told["nvlink_state", "0", "slatag.link=1"], rate and rate / 1024)
        )

    assert [
        (3, 1, None),
        (3, 1, pytest.approx(120)),
        (2, 0, pytest.approx(80)),
        (2, 0, pytest.approx(80)),
    ] == seen[:4]
    assert [
        "GPU 0: NVLink 1 went down: what goes to other cards has one link less",
        "GPU 0: NVLink 1 is up again",
    ] == [record.getMessage() for record in caplog.records]


def test_a_link_that_is_down_at_the_start_counts_once_it_is_up(
    fake: Any, plain_card: Any, told_of: Any
) -> None:
    """The others have their rate from the start; within ten seconds of coming up the link is part of it."""
    down = [line for line in hopper(3) if ".2 " not in line]
    counters = [line for line in hopper(3) if ".2 " in line]
    fake.script("gpus 1", *plain_card(), *down, "gpu 0 field.165.2 uint 0", "at 3", *counters)
    source = fake.source(slow_s=10.0)
    seen = []
    for second in (0, 2, 4, 12, 13, 14):
        fake.at(second)
        told = told_of(source.read())
        rate = told.get(("nvlink_receive", "0", ""))
        seen.append((told["nvlink_links", "0", ""], rate and round(rate / 1024)))

    assert [(2, None), (2, 60), (3, 60)] == seen[:3]
    assert [(3, 120), (3, 120)] == seen[4:]


def test_links_before_hopper(fake: Any, plain_card: Any, told_of: Any) -> None:
    """An A100 tells states by call and errors in one field number for each link."""
    fake.script(
        "gpus 1",
        *plain_card(),
        *(f"gpu 0 link_state.{link} {int(link != 7)}" for link in range(12)),
        *(f"gpu 0 link_version.{link} 4" for link in range(12)),
        "gpu 0 field.32 ull 5",
        "gpu 0 field.101 ull 6",
        "gpu 0 field.109 ull 7",
        "gpu 0 field.58 ull 8",
    )
    told = told_of(fake.source().read())

    assert (11.0, 0.0) == (told["nvlink_links", "0", ""], told["nvlink_state", "0", "slatag.link=7"])
    assert [5.0, 6.0, 7.0, 8.0] == [
        told["nvlink_crc", "0", "slatag.link=0"],
        told["nvlink_crc", "0", "slatag.link=11"],
        told["nvlink_replays", "0", "slatag.link=7"],
        told["nvlink_recoveries", "0", "slatag.link=5"],
    ]


def test_links_of_nvlink_5(fake: Any, plain_card: Any, told_of: Any) -> None:
    """Bytes in fields 202 and 204, receive errors where CRC errors were, recovery events in 215."""
    lines = [
        f"gpu 0 field.{name}.{link} {kind}"
        for link in (1, 2)
        for name, kind in (
            (165, "uint 1"),
            (202, "ull 0"),
            (204, "ull 0"),
            (208, "ull 9"),
            (215, "ull 4"),
            (164, "uint 53125"),
        )
    ]
    fake.script("gpus 1", *plain_card(), *lines, "gpu 0 grow.field.204.1 4e10", "gpu 0 grow.field.204.2 3e10")
    source = fake.source()
    source.read()
    fake.at(2)
    told = told_of(source.read())

    assert 7e10 == pytest.approx(told["nvlink_receive", "0", ""])
    assert (9.0, 4.0) == (
        told["nvlink_crc", "0", "slatag.link=1"],
        told["nvlink_recoveries", "0", "slatag.link=2"],
    )


def test_a_rate_above_all_links_together_is_refused(fake: Any, plain_card: Any, told_of: Any) -> None:
    """Two links at 26.562 GB/s carry 53.1 GB/s: 60 is a lie."""
    lines = [line for line in hopper(2) if "grow" not in line]
    fake.script("gpus 1", *plain_card(), *lines, "gpu 0 grow.field.139 5.9e7")
    source = fake.source()
    source.read()
    fake.at(1)
    told = told_of(source.read())

    assert ("nvlink_receive", "0", "") not in told
    assert 0.0 == told["nvlink_transmit", "0", ""]


def test_gpm_tells_the_rate_of_links_that_count_no_bytes(fake: Any, plain_card: Any, told_of: Any) -> None:
    """MiB/s of all links, from two samples."""
    lines = [line for line in hopper(2) if "field.138" not in line and "field.139" not in line]
    fake.script("gpus 1", *plain_card(gpm="1"), *lines, "gpu 0 gpm.60 1000", "gpu 0 gpm.61 500")
    source = fake.source()
    source.read()
    fake.at(1)
    told = told_of(source.read())

    assert (1000 * 1048576, 500 * 1048576) == (
        told["nvlink_receive", "0", ""],
        told["nvlink_transmit", "0", ""],
    )
