"""Tenants by address."""

import pytest

from otel_attrib.collector.sources.ebpf.tenants import Tenants

MAPPED = bytes(10) + b"\xff\xff"


def test_prefixes_of_both_families() -> None:
    """IPv4 stands within IPv6 and is nobody's there; the bits of a prefix count from there."""
    tenants = Tenants({"10.1.0.0/16": "b", "10.2.0.7": "a", "2001:db8::/32": "b"})

    assert {
        (96, MAPPED + bytes(4)): "",
        (112, MAPPED + bytes([10, 1, 0, 0])): "b",
        (128, MAPPED + bytes([10, 2, 0, 7])): "a",
        (32, bytes.fromhex("20010db8") + bytes(12)): "b",
    } == {key: tenants.name(number) for key, (number,) in tenants.prefixes()}
    assert "" == tenants.name(0)


def test_all_of_ipv4() -> None:
    """A tenant may have all IPv4 addresses."""
    tenants = Tenants({"0.0.0.0/0": "a"})

    assert {(96, MAPPED + bytes(4)): "a"} == {
        key: tenants.name(number) for key, (number,) in tenants.prefixes()
    }


def test_no_network() -> None:
    """What is no network is refused by name."""
    with pytest.raises(ValueError, match="team-a"):
        Tenants({"team-a": "10.0.0.0/8"})
