"""Does a host name or address mean this machine only? Pure; nothing is looked up."""

import ipaddress


def is_loopback(host: str) -> bool:
    """True for `localhost`, names under it, and loopback addresses (without brackets)."""
    name = host.lower().removesuffix(".")
    return name == "localhost" or name.endswith(".localhost") or bool(address_is_loopback(name))


def address_is_loopback(address: str) -> bool | None:
    """The same for addresses; None: not an address. IPv4 in IPv6's clothes counts as what it is."""
    try:
        parsed = ipaddress.ip_address(address.partition("%")[0])
    except ValueError:
        return None
    return (getattr(parsed, "ipv4_mapped", None) or parsed).is_loopback
