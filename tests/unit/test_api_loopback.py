import pytest

from engine.api.loopback import address_is_loopback, is_loopback


@pytest.mark.parametrize(
    "host",
    [
        "localhost",
        "LOCALHOST",
        "localhost.",
        "a.localhost",
        "127.0.0.1",
        "127.9.9.9",
        "::1",
        "::ffff:127.0.0.1",
    ],
)
def test_this_machine(host: str) -> None:
    assert is_loopback(host)


@pytest.mark.parametrize(
    "host",
    [
        "",
        "example.org",
        "localhost.example.org",
        "notlocalhost",
        "0.0.0.0",
        "192.168.1.2",
        "::",
        "fe80::1%eth0",
        "127.0.0.1.example.org",
        "127.1",
        "0x7f000001",
    ],
)
def test_elsewhere(host: str) -> None:
    assert not is_loopback(host)


def test_names_are_not_addresses() -> None:
    assert address_is_loopback("localhost") is None
    assert address_is_loopback("10.0.0.1") is False
