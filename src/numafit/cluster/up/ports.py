"""Ports of loopback that nobody listens on."""

import socket
from collections.abc import Sequence

LOOPBACK = "127.0.0.1"


def free_ports(count: int) -> list[int]:
    """They are free now; whoever takes one before its program does makes that fail."""
    sockets = [socket.socket() for _ in range(count)]
    try:
        for own in sockets:
            own.bind((LOOPBACK, 0))
        return [own.getsockname()[1] for own in sockets]
    finally:
        for own in sockets:
            own.close()


def is_free(port: int) -> bool:
    with socket.socket() as own:
        # As servers do: a connection of a minute ago that the kernel still remembers holds nobody up.
        own.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            own.bind((LOOPBACK, port))
        except OSError:
            return False
        return True


def same_ports_if_free(before: Sequence[int], count: int) -> list[int]:
    """Those of last time, so that a kubeconfig that somebody copied goes on working; else new ones."""
    if len(before) == count and all(is_free(port) for port in before):
        return list(before)
    return free_ports(count)
