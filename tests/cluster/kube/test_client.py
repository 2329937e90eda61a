"""One question to an API server, and everything that may go wrong with it: one sentence each, with its cure."""

import base64
import json
import shutil
import socket
import sys
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from numafit.cluster.kube import client as kube
from numafit.cluster.kube import plugin
from numafit.cluster.kube.access import access
from numafit.cluster.kube.client import Client
from numafit.cluster.kube.expiry import certificate_end, token_end
from numafit.errors import ApiServerError, InputError
from tests.cluster.api_server import (
    NODE,
    PASSWORD,
    PODS,
    UNKNOWN_GROUP,
    ApiServer,
    Certificates,
    Reply,
    kubeconfig,
    refusal,
    server_context,
    serving,
)

needs_openssl = pytest.mark.skipif(shutil.which("openssl") is None, reason="certificates are made by openssl")


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(kube, "PAUSE", 0.01)


def ask(config: Path, path: str = NODE, seconds: float = 5.0) -> bytes:
    with Client(access(config, None), seconds) as client:
        return client.get(path)


def complaint(config: Path, path: str = NODE, seconds: float = 5.0) -> str:
    with pytest.raises(InputError) as error:
        ask(config, path, seconds)
    return str(error.value)


def test_an_answer_comes_as_it_was_sent(config: Path) -> None:
    assert json.loads(ask(config))["metadata"]["name"] == "gpu-1"


def test_a_list_comes_page_by_page(server: ApiServer, config: Path) -> None:
    server.page = 2
    with Client(access(config, None)) as client:
        pages = client.pages(PODS, {"fieldSelector": "spec.nodeName=gpu-1"})
    names = [item["metadata"]["name"] for page in pages for item in json.loads(page)["items"]]
    assert sorted(names) == ["cache-0", "eval-0", "front-0", "train-0", "train-1"]
    assert len(pages) == 3


def test_a_list_that_the_server_forgot_is_asked_for_from_the_start(server: ApiServer, config: Path) -> None:
    first = Reply(body=json.dumps({"metadata": {"continue": "x"}, "items": [1]}).encode())
    gone = refusal(410, "The provided continue parameter is too old")
    last = Reply(body=json.dumps({"metadata": {}, "items": [2]}).encode())
    server.replies[PODS] = [first, gone, last]
    with Client(access(config, None)) as client:
        assert [json.loads(page)["items"] for page in client.pages(PODS, {})] == [[2]]


@pytest.mark.parametrize("status", [429, 502, 503, 504])
def test_what_may_pass_by_itself_is_tried_again(status: int, server: ApiServer, config: Path) -> None:
    server.replies[NODE] = [Reply(status, headers={"Retry-After": "0"}), Reply(status), Reply(body=b"{}")]
    assert ask(config) == b"{}"


@pytest.mark.parametrize(
    ("reply", "sentence", "questions"),
    [
        (refusal(403, "nodes is forbidden"), "nodes is forbidden (ask for that right: the page of this", 1),
        (refusal(404, "not found"), "not found", 1),
        (UNKNOWN_GROUP, "there is nothing of that kind", 1),
        (refusal(429, "slow"), "the API server lets nobody in: too many requests (try again in a minute)", 3),
        (refusal(500, "etcd is gone"), "the API server answers with status 500: etcd is gone (try again, or", 1),
        (refusal(503, "starting"), "the API server answers with status 503: starting (try again, or look", 3),
        (Reply(502, b"<html>Bad Gateway", "text/html"), "a web page came instead of an answer of an API server", 3),
        (Reply(200, b"<html>Log in", "text/html"), "a web page came instead of an answer of an API server (a", 1),
        (Reply(302, b"", headers={"Location": "/login"}), "an API server (status 302) (a proxy or a login", 1),
        (Reply(200, b"hello", "text/plain"), "the answer is no JSON (a proxy or a login page stands in", 1),
        (
            Reply(400, b"Client sent an HTTP request to an HTTPS server.\n", "text/plain"),
            "it speaks TLS only (`server`",
            1,
        ),
        (Reply(418, b"tea", "text/plain"), "what answers with status 418 is no API server (a proxy or", 1),
    ],
)
def test_a_refusal_is_one_sentence(
    reply: Reply, sentence: str, questions: int, server: ApiServer, config: Path
) -> None:
    server.replies[NODE] = reply
    said = complaint(config)
    assert said.startswith(f"{server.url}: ")
    assert sentence in said
    assert len(server.asked) == questions


def test_credentials_that_are_refused_say_whose_they_are(server: ApiServer, config: Path) -> None:
    server.token = "another"
    assert "the credentials of user jane are not accepted (log in to the cluster again)" in complaint(config)


def test_a_token_that_has_expired_is_told(server: ApiServer, tmp_path: Path) -> None:
    """An API server says only that it does not accept it."""
    claims = base64.urlsafe_b64encode(json.dumps({"exp": 1700000000}).encode()).decode().rstrip("=")
    config = kubeconfig(tmp_path, server.url, {"token": f"e30.{claims}.sig"})
    assert "the token has expired, on 2023-11-14 at 22:13 UTC: log in to the cluster again" in complaint(config)


def test_without_credentials_that_is_told(server: ApiServer, tmp_path: Path) -> None:
    config = kubeconfig(tmp_path, server.url, {"as": "somebody"})
    assert "the kubeconfig holds no credentials" in complaint(config)
    assert server.headers[0]["impersonate-user"] == "somebody"


def test_an_answer_that_does_not_come_is_not_waited_for(server: ApiServer, config: Path) -> None:
    server.replies[NODE] = Reply(seconds=1.0)
    assert "no answer within 0.2 s (the API server is busy or stuck: try again)" in complaint(config, seconds=0.2)


def test_a_server_that_is_not_there_is_told(tmp_path: Path) -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        config = kubeconfig(tmp_path, f"https://127.0.0.1:{free.getsockname()[1]}")
        assert "cannot be reached: Connection refused (is the cluster up, and" in complaint(config)
    config = kubeconfig(tmp_path, "https://no-such-host.invalid")
    assert "its name is not known here (is the VPN on" in complaint(config)
    config = kubeconfig(tmp_path, "ftp://x")
    assert "is no address of an API server" in complaint(config)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return Certificates(tmp_path_factory.mktemp("ca"))


@needs_openssl
class TestTls:
    @pytest.fixture
    def config_for(self, tmp_path: Path) -> Callable[..., Path]:
        def make(url: str, ca: Path, user: Any = None, **cluster: Any) -> Path:
            return kubeconfig(tmp_path, url, user, {"certificate-authority": str(ca), **cluster})

        return make

    def test_a_client_certificate_opens_the_door(self, made: Certificates, config_for: Callable[..., Path]) -> None:
        """As files, and as data in the kubeconfig."""
        own = made.signed("server", "/CN=server", names="IP:127.0.0.1")
        client = made.signed("client", "/O=readers/CN=jane")
        key = client.with_suffix(".key")
        with serving(ApiServer(), server_context(own, made.ca)) as server:
            files = {"client-certificate": str(client), "client-key": str(key)}
            assert ask(config_for(server.url, made.ca, files))
            data = {
                "client-certificate-data": base64.b64encode(client.read_bytes()).decode(),
                "client-key-data": base64.b64encode(key.read_bytes()).decode(),
            }
            assert ask(config_for(server.url, made.ca, data))
            assert "your certificate is refused" in complaint(config_for(server.url, made.ca))

    def test_a_client_certificate_that_has_expired_is_told(
        self, made: Certificates, config_for: Callable[..., Path]
    ) -> None:
        own = made.signed("server", "/CN=server", names="IP:127.0.0.1")
        old = made.signed("old", "/CN=jane", dates=("20200101000000Z", "20210203040506Z"))
        assert certificate_end(old.read_text()) == datetime(2021, 2, 3, 4, 5, 6, tzinfo=UTC)
        user = {"client-certificate": str(old), "client-key": str(old.with_suffix(".key"))}
        sentence = "the client certificate has expired, on 2021-02-03 at 04:05 UTC: log in to the cluster again"
        with serving(ApiServer(), server_context(own)) as server:
            server.token = "nobody"
            assert sentence in complaint(config_for(server.url, made.ca, user))
        with serving(ApiServer(), server_context(own, made.ca)) as server:
            assert sentence in complaint(config_for(server.url, made.ca, user))

    def test_a_server_that_is_not_trusted_says_why(
        self, made: Certificates, config_for: Callable[..., Path], tmp_path: Path
    ) -> None:
        own = made.signed("server", "/CN=server", names="IP:127.0.0.1")
        other = Certificates(tmp_path, "other")
        expired = made.signed("expired", "/CN=s", names="IP:127.0.0.1", dates=("20200101000000Z", "20210101000000Z"))
        stranger = made.signed("stranger", "/CN=s", names="DNS:kubernetes.default")
        with serving(ApiServer(), server_context(own)) as server:
            assert "its certificate is not trusted: " in complaint(config_for(server.url, other.ca))
            assert "does not speak TLS" not in complaint(config_for(server.url, other.ca))
        with serving(ApiServer(), server_context(expired)) as server:
            assert "its certificate has expired (its administrator must" in complaint(config_for(server.url, made.ca))
        with serving(ApiServer(), server_context(stranger)) as server:
            said = complaint(config_for(server.url, made.ca))
            assert "its certificate is for other names: " in said
            named = {"tls-server-name": "kubernetes.default"}
            assert ask(config_for(server.url, made.ca, **named))
        with serving(ApiServer()) as server:
            plain = server.url.replace("http://", "https://")
            assert "does not speak TLS" in complaint(config_for(plain, made.ca))

    def test_a_certificate_that_cannot_be_read_is_named(
        self, made: Certificates, config_for: Callable[..., Path], tmp_path: Path
    ) -> None:
        missing = tmp_path / "none.crt"
        assert complaint(config_for("https://x", missing)).startswith(f"{missing}: a certificate or key cannot be used")
        broken = config_for(
            "https://x", made.ca, {"client-certificate-data": "bm9uZQ==", "client-key-data": "bm9uZQ=="}
        )
        assert "a certificate or key cannot be used" in complaint(broken)


PLUGIN = f"""#!{sys.executable}
import json, os, sys
from pathlib import Path
count = Path(sys.argv[1])
count.write_text(str(int(count.read_text() or 0) + 1) if count.exists() else "1")
info = json.loads(os.environ["KUBERNETES_EXEC_INFO"])
assert info["spec"] == {{"interactive": False, "cluster": {{"server": os.environ["SERVER"]}}}}, info
status = {{"token": "the-token-of-jane" if count.read_text() != os.environ.get("BAD") else "old"}}
print(json.dumps({{"apiVersion": info["apiVersion"], "kind": "ExecCredential", "status": status}}))
"""


class TestPlugin:
    def user(self, folder: Path, url: str, **fields: Any) -> dict[str, Any]:
        path = folder / "login"
        path.write_text(PLUGIN)
        path.chmod(0o755)
        fixed = {
            "apiVersion": "client.authentication.k8s.io/v1",
            "command": "./login",
            "args": [str(folder / "count")],
            "env": [{"name": "SERVER", "value": url}, {"name": "BAD", "value": fields.pop("bad", "")}],
            "interactiveMode": "Never",
            "provideClusterInfo": True,
        }
        return {"exec": fixed | fields}

    def test_a_program_hands_out_the_token(self, server: ApiServer, tmp_path: Path) -> None:
        """It is found beside the kubeconfig, and told which cluster is asked."""
        assert ask(kubeconfig(tmp_path, server.url, self.user(tmp_path, server.url)))
        assert (tmp_path / "count").read_text() == "1"

    def test_it_is_asked_again_when_its_token_is_refused(self, server: ApiServer, tmp_path: Path) -> None:
        assert ask(kubeconfig(tmp_path, server.url, self.user(tmp_path, server.url, bad="1")))
        assert (tmp_path / "count").read_text() == "2"

    @pytest.mark.parametrize(
        ("fields", "sentence"),
        [
            ({"command": "no-such-program", "installHint": "get it\nat home"}, "No such file or directory (get it at"),
            ({"command": "false"}, "it ended with status 1 (log in again; what it says stands above)"),
            ({"command": "echo"}, "echo: prints no ExecCredential"),
            ({"command": "printf", "args": ["\\377"]}, "printf: prints no ExecCredential"),
            ({"command": "yes"}, "yes: prints no ExecCredential"),
            ({"command": "sleep", "args": ["60"]}, "sleep: hands out no credentials within 2 s (run it by hand"),
            ({"command": "sh", "args": ["-c", "sleep 9 & exit"]}, "sh: hands out no credentials within 2 s"),
            ({"command": "a\0b"}, "cannot be run: embedded null byte"),
            ({"apiVersion": "client.authentication.k8s.io/v9"}, "credentials of client.authentication.k8s.io/v9 are"),
        ],
    )
    def test_a_program_that_fails_is_named(
        self,
        fields: dict[str, Any],
        sentence: str,
        server: ApiServer,
        tmp_path: Path,
        monkeypatch: pytest.MonkeyPatch,
    ) -> None:
        monkeypatch.setattr(plugin, "SECONDS", 2.0)
        assert sentence in complaint(kubeconfig(tmp_path, server.url, self.user(tmp_path, server.url, **fields)))


def test_what_is_no_certificate_and_no_token_has_no_end() -> None:
    assert certificate_end("") is None
    assert certificate_end("-----BEGIN CERTIFICATE-----\nbm9uZQ==\n-----END CERTIFICATE-----") is None
    assert token_end(PASSWORD) is None
    assert token_end("a.b.c") is None


def test_the_status_of_an_answer_goes_with_its_error(server: ApiServer, config: Path) -> None:
    server.replies[NODE] = refusal(403, "no")
    with pytest.raises(ApiServerError) as error:
        ask(config)
    assert error.value.status == 403
