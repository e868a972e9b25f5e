"""Tenants by the address that their requests come from: names for networks, the narrowest network first.

Only the user can say who an address is; without such a map all traffic of a port is one flow.
"""

from collections.abc import Iterator, Mapping
from ipaddress import IPv4Network, ip_network

__all__ = ["Tenants"]

_MAPPED = bytes(10) + b"\xff\xff"  # IPv4 within IPv6: ::ffff:a.b.c.d


class Tenants:
    """Names by number, and the prefixes in which the kernel looks an address up; 0 is nobody's."""

    def __init__(self, names: Mapping[str, str]) -> None:
        """Take network → name (`10.1.0.0/16`, `2001:db8::1`); ValueError for what is no network."""
        # IPv4 lies within ::/64 for the kernel's table: a tenant of that network is not all of IPv4's.
        self._networks = {ip_network("0.0.0.0/0"): ""}
        self._networks |= {ip_network(network): name for network, name in names.items()}
        self._names = ("", *sorted(set(names.values())))

    def name(self, number: int) -> str:
        """Return the name of a number, "" for 0."""
        return self._names[number]

    def prefixes(self) -> Iterator[tuple[tuple[int, bytes], tuple[int]]]:
        """Key and value of each network: bits and 16 bytes of address, then the name's number."""
        for network, name in self._networks.items():
            packed = network.network_address.packed
            old = isinstance(network, IPv4Network)
            bits, address = (96 + network.prefixlen, _MAPPED + packed) if old else (network.prefixlen, packed)
            yield (bits, address), (self._names.index(name),)
