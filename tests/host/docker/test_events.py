"""Events of containers, from an engine that sends them in pieces."""

import socket
import threading
from pathlib import Path

from numafit.host.docker.events import ContainerEvents

LONG = 20.0


def test_each_piece_is_told_and_closing_ends_it(tmp_path: Path) -> None:
    """The thread that reads has no time limit; closing from another one wakes it."""
    happened = threading.Event()
    with socket.socket(socket.AF_UNIX) as engine:
        engine.bind(str(tmp_path / "docker.sock"))
        engine.listen()
        events = ContainerEvents(f"unix://{tmp_path}/docker.sock")
        reader = threading.Thread(target=events.follow, args=(happened.set,))
        reader.start()
        connection, _ = engine.accept()
        with connection:
            asked = connection.recv(10_000)
            connection.sendall(b'HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n10\r\n{"status":"die"}\r\n')
            assert happened.wait(LONG)
            assert reader.is_alive()
            events.close()
            reader.join(LONG)
    assert not reader.is_alive()
    assert asked.startswith(b"GET /events?filters=%7B%22type%22")


def test_an_engine_that_is_not_there_tells_nothing(tmp_path: Path) -> None:
    told: list[int] = []
    ContainerEvents(f"unix://{tmp_path}/none").follow(lambda: told.append(1))
    assert told == []
