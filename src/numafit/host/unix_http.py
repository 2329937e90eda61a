"""HTTP through a unix socket."""

import http.client
import socket


class UnixConnection(http.client.HTTPConnection):
    def __init__(self, path: str, seconds: float) -> None:
        super().__init__("localhost", timeout=seconds)
        self.path = path
        self.seconds = seconds

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.seconds)
        self.sock.connect(self.path)
