"""A stand-in for a Docker engine: answers on a unix socket what it is told to, and writes down what it is asked."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

KERNEL = "6.1.0-test"


def described(
    container: str,
    state: str = "running",
    *,
    pid: int = 0,
    cpus: str = "",
    mems: str = "",
    restart: str = "no",
    labels: dict[str, str] | None = None,
    created: str = "2026-01-02T03:04:05.123456789Z",
    error: str = "",
    gpus: list[str] | None = None,
    gpu_count: int = 0,
) -> dict[str, Any]:
    """As `docker inspect` shows it, with what numafit reads and a little more."""
    return {
        "Id": container,
        "Name": f"/{container}-name",
        "Created": created,
        "State": {"Status": state, "Pid": pid, "Error": error, "ExitCode": 127 if error else 0, "OOMKilled": False},
        "HostConfig": {
            "CpusetCpus": cpus,
            "CpusetMems": mems,
            "RestartPolicy": {"Name": restart, "MaximumRetryCount": 0},
            "DeviceRequests": [{"Driver": "", "Count": gpu_count, "DeviceIDs": gpus}] if gpus or gpu_count else None,
        },
        "Config": {"Image": "image", "Labels": labels},
    }


class FakeEngine:
    def __init__(self, path: Path) -> None:
        self.address = f"unix://{path}"
        self.containers: list[dict[str, Any]] = []
        self.asked: list[str] = []
        self.broken = False
        self.refusal = ""


@contextmanager
def fake_engine(path: Path) -> Iterator[FakeEngine]:
    engine = FakeEngine(path)

    class Handler(BaseHTTPRequestHandler):
        def address_string(self) -> str:
            return "socket"

        def log_message(self, format: str, *args: object) -> None:
            pass

        def do_GET(self) -> None:
            url = urlsplit(self.path)
            engine.asked.append(url.path)
            if engine.broken:
                self._answer(500, {"message": "the engine is sick"})
            elif url.path == "/version":
                self._answer(200, {"KernelVersion": KERNEL})
            elif url.path == "/containers/json":
                filters = json.loads(parse_qs(url.query)["filters"][0])
                found = [one for one in engine.containers if _matches(one, filters)]
                self._answer(200, [{"Id": one["Id"], "Labels": one["Config"]["Labels"]} for one in found])
            else:
                name = url.path.split("/")[2]
                named = [one for one in engine.containers if name in (one["Id"], one["Name"][1:])]
                self._answer(*(200, named[0]) if named else (404, {"message": f"No such container: {name}"}))

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"] or 0)) or b"{}")
            name = self.path.split("/")[2]
            engine.asked.append(f"{self.path} {json.dumps(body)}")
            if engine.refusal:
                self._answer(400, {"message": engine.refusal})
                return
            for one in engine.containers:
                if one["Id"] == name:
                    one["HostConfig"] |= body
                    self._answer(200, {"Warnings": None})
                    return
            self._answer(404, {"message": f"No such container: {name}"})

        def _answer(self, status: int, value: object) -> None:
            data = json.dumps(value).encode()
            self.send_response(status)
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    with socketserver.ThreadingUnixStreamServer(str(path), Handler) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield engine
        finally:
            server.shutdown()
            thread.join()


def _matches(one: dict[str, Any], filters: dict[str, list[str]]) -> bool:
    labels = one["Config"]["Labels"] or {}
    for wanted in filters.get("label", []):
        key, equals, value = wanted.partition("=")
        if key not in labels or (equals and labels[key] != value):
            return False
    states = filters.get("status")
    return states is None or one["State"]["Status"] in states
