"""The agent as a process: streams, signals, sockets, and how it refuses to start."""

import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import uvicorn

from numafit.service.api import peer
from numafit.service.api.peer import PeerProtocol
from numafit.service.server import Listening, tcp_socket, unix_socket
from tests.service.agents import POD, ROOT, demo_agent, running

ENOUGH = 30.0


def events(url: str, **headers: str) -> Iterator[tuple[str, str, Any]]:
    """(id, name, data) of each event, until the stream ends."""
    head = {name.replace("_", "-"): text for name, text in headers.items()}
    with httpx.stream("GET", f"{url}/api/v1/events", headers=head, timeout=ENOUGH) as response:
        assert response.status_code == 200
        assert response.headers["content-type"] == "text/event-stream"
        fields: dict[str, str] = {}
        for line in response.iter_lines():
            if line:
                name, _, value = line.partition(": ")
                fields[name] = value
            elif "event" in fields:
                yield fields.get("id", ""), fields["event"], json.loads(fields["data"])
                fields = {}


def failed(*arguments: str) -> tuple[int, str]:
    command = [sys.executable, "-m", "numafit", "serve", *arguments]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, timeout=ENOUGH)
    return done.returncode, done.stderr


def test_a_stream_says_how_things_stand_and_then_what_happens() -> None:
    """`hello`, the ledger, then each decision followed by its ledger, numbered by revision."""
    with running("--demo") as agent:
        stream = events(agent.url)
        _, hello, greeting = next(stream)
        number, first, ledger = next(stream)
        assert (hello, first) == ("hello", "ledger")
        assert greeting["revision"] == ledger["revision"] == int(number.partition("-")[2])
        no_number, then, decision = next(stream)
        following, last, after = next(stream)
        assert (then, last, no_number) == ("decision", "ledger", "")
        assert int(following.partition("-")[2]) == after["revision"] == ledger["revision"] + 1
        assert httpx.get(f"{agent.url}/api/v1/decisions/{decision['id']}").json()["ledger"] == after
        # Who comes back hears what was missed, and only that.
        again = events(agent.url, last_event_id=number)
        assert [next(again)[1] for _ in range(3)] == ["hello", "decision", "ledger"]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_ends_the_agent_its_streams_and_its_workers(number: int) -> None:
    """With status 0, and without a word on standard error."""
    with running("--demo") as agent:
        httpx.post(f"{agent.url}/api/v1/simulate", json={"pods": POD}, timeout=ENOUGH)
        workers = children(agent.process.pid)
        stream = events(agent.url)
        next(stream)
        assert agent.stop(number) == 0
        # The stream ends as a whole answer, not as a broken one.
        assert all(name in ("ledger", "decision") for _, name, _ in stream)
        assert agent.process.stderr is not None
        assert agent.process.stderr.read() == ""
        assert workers
        assert not any(Path(f"/proc/{pid}").exists() for pid in workers)


def test_workers_end_with_an_agent_that_is_killed() -> None:
    """Their input ends."""
    with running("--demo") as agent:
        httpx.post(f"{agent.url}/api/v1/simulate", json={"pods": POD}, timeout=ENOUGH)
        workers = children(agent.process.pid)
        assert workers
        agent.stop(signal.SIGKILL)
        end = time.monotonic() + ENOUGH
        while any(is_running(pid) for pid in workers) and time.monotonic() < end:
            time.sleep(0.05)
        assert not any(is_running(pid) for pid in workers)


def children(pid: int) -> list[int]:
    return [int(text) for text in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]


def is_running(pid: int) -> bool:
    """One that nobody has waited for yet is no process any more."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


def test_a_port_that_is_taken_is_one_sentence() -> None:
    """With the cure."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = str(taken.getsockname()[1])
        status, said = failed("--demo", "--port", port)
    assert status == 2
    assert said == f"numafit: 127.0.0.1:{port}: cannot listen: Address already in use (choose another with --port)\n"


def test_beyond_loopback_a_token_is_demanded(tmp_path: Path) -> None:
    """And a token that could be guessed is none."""
    status, said = failed("--demo", "--host", "0.0.0.0")
    assert status == 2
    assert "--token-file" in said
    short = tmp_path / "token"
    short.write_text("secret\n")
    status, said = failed("--demo", "--host", "0.0.0.0", "--token-file", str(short))
    assert status == 2
    assert "at least 16" in said


@pytest.mark.parametrize(
    "arguments",
    [
        ("--demo", "no-such-box"),
        ("--demo", "laptop", "--kubelet-dir", "docs"),
        ("--config", "examples/small-node/kubelet.yaml"),
        ("--kubelet-dir", "examples/small-node"),
        ("--kubelet-dir", "no-such-folder"),
        ("--demo", "laptop", "--allow-writes"),
        ("--demo", "laptop", "--host", "no.such.host.invalid", "--token-file", "LICENSE"),
    ],
)
def test_what_cannot_be_shown_is_one_sentence(arguments: tuple[str, ...]) -> None:
    """Exit status 2, no traceback."""
    status, said = failed(*arguments)
    assert status == 2
    assert said.startswith("numafit: ")
    assert said.count("\n") == 1


def test_leases_are_taken_through_the_unix_socket(tmp_path: Path) -> None:
    """The kernel says who asks; by TCP the same question is refused. Nothing is left of the socket."""
    path = tmp_path / "agent.sock"
    with running("--state-dir", str(tmp_path / "ledger"), "--socket", str(path)) as agent:
        assert str(path) in agent.line
        body = {"cpus": 1, "seconds": 60}
        assert httpx.post(f"{agent.url}/api/v1/leases", json=body, timeout=ENOUGH).status_code == 403
        transport = httpx.HTTPTransport(uds=str(path))
        with httpx.Client(transport=transport, base_url="http://agent", timeout=ENOUGH) as client:
            taken = client.post("/api/v1/leases", json=body)
            assert taken.status_code == 201, taken.text
            assert taken.json()["uid"] == os.getuid()
            end = time.monotonic() + ENOUGH
            while not client.get("/api/v1/ledger").json()["holders"] and time.monotonic() < end:
                time.sleep(0.1)
            (holder,) = client.get("/api/v1/ledger").json()["holders"]
            assert (holder["id"], holder["kind"]) == (taken.json()["id"], "lease")
            assert client.delete(f"/api/v1/leases/{holder['id']}").status_code == 200
        assert agent.stop() == 0
        assert not path.exists()


def test_a_socket_that_nobody_listens_on_is_replaced(tmp_path: Path) -> None:
    """One that is in use is not."""
    path = tmp_path / "agent.sock"
    first = unix_socket(path)
    first.close()
    with unix_socket(path) as second:
        second.listen()
        with pytest.raises(Exception, match="Address already in use"):
            unix_socket(path)


def test_an_ordinary_file_is_not_taken_for_a_socket(tmp_path: Path) -> None:
    """It stays as it is."""
    path = tmp_path / "agent.sock"
    path.write_text("precious")
    with pytest.raises(Exception, match="Address already in use"):
        unix_socket(path)
    assert path.read_text() == "precious"


def test_a_port_of_zero_is_a_free_one() -> None:
    """For tests and for those who start several."""
    with tcp_socket("127.0.0.1", 0) as found:
        assert found.getsockname()[1] > 0


def test_a_request_whose_head_never_ends_is_cut_off(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first of a connection and those behind it."""
    monkeypatch.setattr(peer, "HEAD_SECONDS", 0.2)

    async def run() -> list[bytes]:
        agent = demo_agent()
        listening = tcp_socket("127.0.0.1", 0)
        port = listening.getsockname()[1]
        # So long a keep-alive that it cannot be the one that ends the connection.
        config = uvicorn.Config(agent.app, http=PeerProtocol, ws="none", log_config=None, timeout_keep_alive=60)
        server = Listening(config, agent, lambda: None)
        serving = asyncio.create_task(server._serve([listening]))
        while not server.started:
            await asyncio.sleep(0.01)
        whole = f"GET /healthz HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\n\r\n".encode()
        found = []
        for before in (b"", whole):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            if before:
                writer.write(before)
                await reader.readuntil(b'{"status":"ok"}')
            writer.write(b"GET / HT")
            try:
                found.append(await reader.read())
            except ConnectionResetError:
                found.append(b"reset")
            writer.close()
        server.should_exit = True
        await serving
        return found

    assert set(asyncio.run(asyncio.wait_for(run(), ENOUGH))) <= {b"", b"reset"}


@pytest.mark.parametrize(
    "request_bytes",
    [
        b"garbage\r\n\r\n",
        b"GET / HTTP/1.1\r\n\r\n",
        b"POST /api/v1/simulate HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
        b"Transfer-Encoding: chunked\r\n\r\nno length\r\n",
    ],
)
def test_what_is_no_http_is_a_problem_like_any_other(request_bytes: bytes) -> None:
    """In the same shape, and without a line in the log of the agent."""
    with running("--demo", "laptop") as agent:
        with socket.create_connection(("127.0.0.1", agent.port), ENOUGH) as connection:
            connection.sendall(request_bytes)
            answer = b"".join(iter(lambda: connection.recv(1 << 16), b""))
        head, _, body = answer.partition(b"\r\n\r\n")
        assert head.startswith(b"HTTP/1.1 400 ")
        assert b"application/problem+json" in head
        assert json.loads(body)["status"] == 400
        assert agent.stop() == 0
        assert agent.process.stderr is not None
        assert agent.process.stderr.read() == ""


def test_two_agents_do_not_share_a_socket(tmp_path: Path) -> None:
    """The second says so, and leaves the first alone."""
    path = tmp_path / "agent.sock"
    with unix_socket(path) as first:
        first.listen()
        code, said = failed("--demo", "laptop", "--port", "0", "--socket", str(path))
        assert path.exists()
    cure = "does another agent listen there? choose another path"
    assert (code, said) == (2, f"numafit: {path}: cannot listen: Address already in use ({cure})\n")


def test_a_body_of_two_lengths_ends_the_connection() -> None:
    """What follows is not taken for a request: another one in between may have counted differently."""
    with running("--demo") as agent:
        address = agent.url.removeprefix("http://").split(":")
        head = f"POST /api/v1/lint HTTP/1.1\r\nHost: {agent.url.removeprefix('http://')}\r\n"
        body = (
            "Content-Length: 4\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\nGET /healthz HTTP/1.1\r\nHost: x\r\n\r\n"
        )
        with socket.create_connection((address[0], int(address[1])), timeout=ENOUGH) as own:
            own.sendall((head + body).encode())
            answer = b"".join(iter(lambda: own.recv(65536), b""))
    assert answer.startswith(b"HTTP/1.1 400 ")
    assert answer.count(b"HTTP/1.1 ") == 1


def test_assets_are_compressed_for_those_who_take_it() -> None:
    with running("--demo") as agent:
        plain = httpx.get(f"{agent.url}/", headers={"Accept-Encoding": "identity"})
        packed = httpx.get(f"{agent.url}/", headers={"Accept-Encoding": "br, gzip;q=0.5"})
        never = httpx.get(f"{agent.url}/", headers={"Accept-Encoding": "gzip;q=0"})
        again = {"Accept-Encoding": "gzip", "If-None-Match": packed.headers["etag"]}
        same = httpx.get(f"{agent.url}/", headers=again)
    assert plain.content == packed.content == never.content
    assert [one.headers.get("content-encoding") for one in (plain, packed, never)] == [None, "gzip", None]
    assert int(packed.headers["content-length"]) < len(plain.content)
    assert (same.status_code, same.content) == (304, b"")
    assert {one.headers["vary"] for one in (plain, packed, same)} == {"Accept-Encoding"}
    assert plain.headers["etag"] != packed.headers["etag"]
