import errno
import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager

import pytest

from engine.errors import SetupError
from engine.server import sockets
from engine.server.sockets import bind, is_wide, local_url, parse_address


@contextmanager
def bound(host: str, port: int = 0) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(sock) for sock in bind(host, port)]


def reach(host: str, port: int) -> bool:
    try:
        socket.create_connection((host, port), timeout=2).close()
    except OSError:
        return False
    return True


@pytest.mark.parametrize(
    ("host", "reached", "refused", "url", "wide"),
    [
        ("localhost", ["127.0.0.1", "::1"], [], "http://127.0.0.1:", False),
        ("LocalHost", ["127.0.0.1", "::1"], [], "http://127.0.0.1:", False),
        ("", ["127.0.0.1", "::1"], [], "http://127.0.0.1:", False),
        ("127.0.0.1", ["127.0.0.1"], ["::1"], "http://127.0.0.1:", False),
        ("::1", ["::1"], ["127.0.0.1"], "http://[::1]:", False),
        ("[::1]", ["::1"], ["127.0.0.1"], "http://[::1]:", False),
        ("0.0.0.0", ["127.0.0.1"], ["::1"], "http://127.0.0.1:", True),
        ("::", ["127.0.0.1", "::1"], [], "http://[::1]:", True),
    ],
)
def test_hosts(host: str, reached: list[str], refused: list[str], url: str, wide: bool) -> None:
    with bound(host) as socks:
        ports = {sock.getsockname()[1] for sock in socks}
        assert len(ports) == 1
        port = ports.pop()
        assert all(reach(address, port) for address in reached)
        assert not any(reach(address, port) for address in refused)
        assert local_url(socks) == f"{url}{port}"
        assert is_wide(socks) is wide


class NoFamily:
    """`socket.socket` on a machine that lacks one family."""

    def __init__(self, missing: int, how: int) -> None:
        self._missing = missing
        self._how = how
        self._real = socket.socket

    def __call__(self, family: int, kind: int, proto: int) -> socket.socket:
        if family == self._missing:
            raise OSError(self._how, "missing")
        return self._real(family, kind, proto)


@pytest.mark.parametrize("how", [errno.EAFNOSUPPORT, errno.EADDRNOTAVAIL])
@pytest.mark.parametrize(
    ("missing", "left"), [(socket.AF_INET6, "127.0.0.1"), (socket.AF_INET, "::1")]
)
def test_localhost_with_one_family(
    missing: int, left: str, how: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sockets.socket, "socket", NoFamily(missing, how))
    with bound("localhost") as socks:
        assert [sock.getsockname()[0] for sock in socks] == [left]
    with pytest.raises(SetupError, match="no address"):
        bind("::1" if missing == socket.AF_INET6 else "127.0.0.1", 0)


@pytest.mark.parametrize("taken_on", ["127.0.0.1", "::1"])
def test_localhost_takes_both_or_none(taken_on: str) -> None:
    with bound(taken_on) as (taken,):
        port = taken.getsockname()[1]
        with pytest.raises(SetupError, match=str(port)) as caught:
            bind("localhost", port)
        assert f"--port {port + 1}" in caught.value.hint
        other = "::1" if taken_on == "127.0.0.1" else "127.0.0.1"
        assert not reach(other, port)


@pytest.mark.parametrize(
    "host", ["203.0.113.7", "2001:db8::7", "no.such.name.invalid", "a..b", "x" * 300]
)
def test_addresses_that_are_not_ours(host: str) -> None:
    with pytest.raises(SetupError) as caught:
        bind(host, 0)
    assert caught.value.hint


@pytest.mark.parametrize("port", [-1, 65536])
def test_numbers_that_are_no_ports(port: int) -> None:
    with pytest.raises(SetupError, match=str(port)):
        bind("localhost", port)


def test_the_last_port_is_not_followed_by_another() -> None:
    error = sockets._explain(OSError(errno.EADDRINUSE, "x"), "localhost", 65535)
    assert "65534" in error.hint


def test_a_port_for_root_only() -> None:
    error = sockets._explain(OSError(errno.EACCES, "x"), "localhost", 80)
    assert "1023" in error.hint


@pytest.mark.parametrize(
    ("text", "result"),
    [
        ("", ("localhost", 8)),
        ("example", ("example", 8)),
        ("example:80", ("example", 80)),
        ("127.0.0.1:0", ("127.0.0.1", 0)),
        (":9", ("localhost", 9)),
        ("::1", ("::1", 8)),
        ("::", ("::", 8)),
        ("[::1]", ("::1", 8)),
        ("[::1]:80", ("::1", 80)),
        ("[::]:65535", ("::", 65535)),
        (" localhost ", ("localhost", 8)),
    ],
)
def test_ways_to_write_an_address(text: str, result: tuple[str, int]) -> None:
    assert parse_address(text, 8) == result


@pytest.mark.parametrize(
    "text", ["a:b", "a:1:2", "[::1", "a:65536", "a:-1", "[::1]x", "http://a:1"]
)
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(SetupError):
        parse_address(text, 8)


def test_connections_send_small_writes_at_once() -> None:
    import asyncio

    async def nodelay() -> int:
        options: list[int] = []

        def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            sock = writer.get_extra_info("socket")
            options.append(sock.getsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY))
            writer.close()

        (sock,) = bind("127.0.0.1", 0)
        async with await asyncio.start_server(serve, sock=sock):
            reader, writer = await asyncio.open_connection(*sock.getsockname())
            await reader.read()
            writer.close()
            await writer.wait_closed()
        return options[0]

    assert asyncio.run(nodelay()) == 1
