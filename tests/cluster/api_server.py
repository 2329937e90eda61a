"""An API server that answers from what a real one (1.36.4) answered, on loopback, with faults on demand.

`recorded/` holds those answers: two nodes, six pods, a NodeResourceTopology; `configz.json` is what the kubelet's own
code makes of examples/small-node/kubelet.yaml, and came through the API server's proxy.
"""

import json
import ssl
import subprocess
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qs, urlsplit

RECORDED = Path(__file__).parent / "recorded"
TOPOLOGY = "/apis/topology.node.k8s.io/v1alpha2/noderesourcetopologies"
NODE, CONFIGZ, PODS = "/api/v1/nodes/gpu-1", "/api/v1/nodes/gpu-1/proxy/configz", "/api/v1/pods"
PASSWORD = "the-token-of-jane"


class Reply(NamedTuple):
    status: int = 200
    body: bytes = b"{}"
    kind: str = "application/json"
    headers: Mapping[str, str] = {}
    seconds: float = 0.0
    """To wait before it is sent."""


def refusal(status: int, message: str) -> Reply:
    body = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure", "message": message}
    return Reply(status, json.dumps(body | {"code": status}).encode())


FORBIDDEN = refusal(403, 'nodes "gpu-1" is forbidden: User "jane" cannot get resource "nodes/proxy" in API group ""')
UNKNOWN_GROUP = Reply(404, b"404 page not found\n", "text/plain; charset=utf-8")


def recorded(name: str) -> Any:
    return json.loads((RECORDED / name).read_text())


class ApiServer:
    """`replies`: path -> what to answer instead of what was recorded; one of a list after the other."""

    def __init__(self) -> None:
        self.replies: dict[str, Reply | list[Reply]] = {}
        self.token = ""
        """Where it is set, nobody else is let in."""
        self.page = 0
        """Most items of one page of a list, if not 0."""
        self.asked: list[str] = []
        self.headers: list[dict[str, str]] = []
        self.url = ""

    def reply(self, target: str, headers: Mapping[str, str]) -> Reply:
        path = urlsplit(target).path
        query = {name: values[0] for name, values in parse_qs(urlsplit(target).query).items()}
        self.asked.append(target)
        self.headers.append({name.lower(): value for name, value in headers.items()})
        if self.token and headers.get("Authorization") != f"Bearer {self.token}":
            return refusal(401, "Unauthorized")
        own = self.replies.get(path)
        if isinstance(own, list):
            own = own.pop(0) if len(own) > 1 else own[0]
        return own if own is not None else self._recorded(path, query)

    def _recorded(self, path: str, query: Mapping[str, str]) -> Reply:
        if path == CONFIGZ:
            return Reply(body=(RECORDED / "configz.json").read_bytes())
        nodes = {"gpu-1": recorded("node.json"), "gpu-2": recorded("node-gpu-2.json")}
        head, _, name = path.rpartition("/")
        if head == "/api/v1/nodes" and name in nodes:
            return Reply(body=json.dumps(nodes[name]).encode())
        if path == "/api/v1/nodes":
            return self._list([{"metadata": {"name": each}} for each in nodes], query)
        if path == PODS:
            node = query.get("fieldSelector", "").removeprefix("spec.nodeName=")
            return self._list([pod for pod in recorded("pods.json")["items"] if pod["spec"]["nodeName"] == node], query)
        if path == f"{TOPOLOGY}/gpu-1":
            return Reply(body=(RECORDED / "nrt.json").read_bytes())
        return refusal(404, f'"{name}" not found')

    def _list(self, items: list[Any], query: Mapping[str, str]) -> Reply:
        begin = int(query.get("continue", 0))
        end = begin + min(int(query.get("limit", 500)), self.page or 500)
        metadata = {"resourceVersion": "269"} | ({"continue": str(end)} if end < len(items) else {})
        return Reply(body=json.dumps({"kind": "List", "metadata": metadata, "items": items[begin:end]}).encode())


@contextmanager
def serving(server: ApiServer, context: ssl.SSLContext | None = None) -> Iterator[ApiServer]:
    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            reply = server.reply(self.path, self.headers)
            time.sleep(reply.seconds)
            self.send_response(reply.status)
            for name, value in {"Content-Type": reply.kind, **reply.headers}.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(reply.body)))
            self.end_headers()
            self.wfile.write(reply.body)

        def log_message(self, *_: object) -> None:
            pass

    class Quiet(ThreadingHTTPServer):
        daemon_threads = True

        def finish_request(self, request: Any, address: Any) -> None:
            """TLS is spoken in the thread of the connection, where a client that goes away disturbs nobody."""
            if context is not None:
                request = context.wrap_socket(request, server_side=True, do_handshake_on_connect=False)
            with request:
                super().finish_request(request, address)

        def handle_error(self, *_: object) -> None:
            pass

    listening = Quiet(("127.0.0.1", 0), Handler)
    server.url = f"{'https' if context else 'http'}://127.0.0.1:{listening.server_address[1]}"
    thread = threading.Thread(target=listening.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        listening.shutdown()
        listening.server_close()
        thread.join()


def kubeconfig(
    folder: Path, url: str, user: Mapping[str, Any] | None = None, cluster: Mapping[str, Any] | None = None
) -> Path:
    """One context `test`."""
    value = {
        "apiVersion": "v1",
        "kind": "Config",
        "current-context": "test",
        "clusters": [{"name": "c", "cluster": {"server": url, **(cluster or {})}}],
        "users": [{"name": "jane", "user": dict(user or {"token": PASSWORD})}],
        "contexts": [{"name": "test", "context": {"cluster": "c", "user": "jane"}}],
    }
    path = folder / "kubeconfig"
    path.write_text(json.dumps(value))
    return path


class Certificates:
    """Made by openssl: a CA, and whatever it is asked to sign."""

    def __init__(self, folder: Path, name: str = "ca") -> None:
        self.folder = folder
        self.ca = folder / f"{name}.crt"
        self.key = folder / f"{name}.key"
        self._run("req", "-x509", *self._new(self.key), "-out", self.ca, "-subj", f"/CN={name}", "-days", "2")

    def signed(self, name: str, subject: str, *, names: str = "", dates: tuple[str, str] | None = None) -> Path:
        """The certificate; its key lies beside it. `dates`: from when to when, as 20200101000000Z."""
        request, certificate = self.folder / f"{name}.csr", self.folder / f"{name}.crt"
        self._run("req", *self._new(self.folder / f"{name}.key"), "-out", request, "-subj", subject)
        extensions = self.folder / f"{name}.ext"
        extensions.write_text(f"[e]\nsubjectAltName={names}\n" if names else "[e]\n")
        (self.folder / "index").write_text("")
        (self.folder / "ca.cnf").write_text(
            f"[ca]\ndefault_ca=d\n[d]\ndatabase={self.folder}/index\nnew_certs_dir={self.folder}\nrand_serial=yes\n"
            "default_md=sha256\nunique_subject=no\npolicy=p\n[p]\nCN=supplied\nO=optional\n"
        )
        begin, end = dates or ("20200101000000Z", "20990101000000Z")
        self._run(
            *("ca", "-batch", "-notext", "-config", self.folder / "ca.cnf", "-cert", self.ca, "-keyfile", self.key),
            *("-in", request, "-out", certificate, "-startdate", begin, "-enddate", end),
            *("-extfile", extensions, "-extensions", "e"),
        )
        return certificate

    @staticmethod
    def _new(key: Path) -> tuple[object, ...]:
        return ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", key)

    def _run(self, *arguments: object) -> None:
        done = subprocess.run(["openssl", *map(str, arguments)], capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


def server_context(certificate: Path, client_ca: Path | None = None) -> ssl.SSLContext:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, certificate.with_suffix(".key"))
    if client_ca is not None:
        context.load_verify_locations(client_ca)
        context.verify_mode = ssl.CERT_REQUIRED
    return context
