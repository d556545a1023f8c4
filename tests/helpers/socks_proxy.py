"""A SOCKS5 proxy on loopback (RFC 1928, no authentication, CONNECT only) that tells where it was asked to go."""

import socket
import socketserver
import threading


class SocksProxy(socketserver.ThreadingTCPServer):
    """Connects everything to one place, whatever its name; `with` runs it."""

    daemon_threads = True
    allow_reuse_address = True

    def __init__(self, to_port: int) -> None:
        super().__init__(("127.0.0.1", 0), _Tunnel)
        self.to_port = to_port
        self.asked: list[tuple[str, int]] = []

    @property
    def port(self) -> int:
        return self.server_address[1]

    def __enter__(self) -> "SocksProxy":
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *args: object) -> None:
        self.shutdown()
        self.server_close()


class _Tunnel(socketserver.StreamRequestHandler):
    server: SocksProxy
    timeout = 10

    def handle(self) -> None:
        _, num_methods = self.rfile.read(2)
        self.rfile.read(num_methods)
        self.wfile.write(b"\x05\x00")
        _, command, _, kind = self.rfile.read(4)
        assert (command, kind) == (1, 3), "CONNECT to a name: the proxy looks it up"
        name = self.rfile.read(self.rfile.read(1)[0]).decode()
        self.server.asked.append((name, int.from_bytes(self.rfile.read(2))))
        with socket.create_connection(("127.0.0.1", self.server.to_port)) as far:
            self.wfile.write(b"\x05\x00\x00\x01" + bytes(6))
            back = threading.Thread(target=_copy, args=(far, self.connection), daemon=True)
            back.start()
            _copy(self.connection, far)
            back.join(10)


def _copy(source: socket.socket, to: socket.socket) -> None:
    try:
        while data := source.recv(1 << 16):
            to.sendall(data)
        to.shutdown(socket.SHUT_WR)
    except OSError:
        return
