"""Servers that are none, or mean harm: each answer is bounded in time and size, and ends in one sentence."""

import gzip
import json
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.cluster.case.fetch import pods_of
from numafit.cluster.kube import client as kube
from numafit.cluster.kube.access import access
from numafit.cluster.kube.client import Client
from numafit.errors import InputError
from tests.cluster.api_server import CONFIGZ, NODE, PODS, TOPOLOGY, ApiServer, Reply

DEEP = b'{"kind":"Node","metadata":{},"items":[],"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}"
NO_UTF8 = b'{"kind":"Node","metadata":{},"items":[],"status":{},"x":"\xff"}'
ODD = json.dumps(
    {
        "kind": "Node",
        "metadata": {"annotations": [1]},
        "status": {"nodeInfo": [1]},
        "spec": [],
        "items": [{"metadata": "x"}, {"spec": {"containers": [1]}}],
    }
).encode()


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("NO_PROXY", "*")
    monkeypatch.setattr(kube, "PAUSE", 0.01)


def complaint(config: Path) -> str:
    with Client(access(config, None)) as client, pytest.raises(InputError) as error:
        pods_of(client, "gpu-1")
    return str(error.value)


@pytest.mark.parametrize("path", [NODE, CONFIGZ, PODS, f"{TOPOLOGY}/gpu-1"])
@pytest.mark.parametrize(
    "reply",
    [Reply(body=body) for body in (DEEP, NO_UTF8, ODD, b"[]", b'{"a":', b'{"metadata":{},"items":[null]}')]
    + [Reply(520), Reply(299), Reply(204, b""), Reply(520, b'{"message":"\\u001b]0;x\\u0007"}')],
)
def test_whatever_a_server_answers_gives_a_folder_or_one_sentence(
    path: str, reply: Reply, server: ApiServer, config: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.replies[path] = reply
    status = main(["node", "pull", "gpu-1", "--kubeconfig", str(config), "-o", str(tmp_path / "case")])
    said = capsys.readouterr().err
    assert status in (0, 2)
    assert (tmp_path / "case").exists() == (status == 0)
    assert said.count("\n") == 1 or status == 0
    assert "\x1b" not in said


def test_an_answer_that_drips_is_left(server: ApiServer, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube, "LONGEST", 0.0)
    assert "the answer is not whole after 0 s" in complaint(config)


def test_an_answer_that_unpacks_to_more_than_fits_is_left(
    server: ApiServer, config: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kube, "LARGEST", 1 << 20)
    body = gzip.compress(b'{"x":"' + b"0" * (1 << 24) + b'"}')
    server.replies[PODS] = Reply(body=body, headers={"Content-Encoding": "gzip"})
    assert "the answer is larger than 1 MiB" in complaint(config)


def test_a_packed_answer_is_read(server: ApiServer, config: Path) -> None:
    body = gzip.compress(b'{"metadata":{},"items":[]}')
    server.replies[PODS] = Reply(body=body, headers={"Content-Encoding": "gzip"})
    with Client(access(config, None)) as client:
        assert json.loads(pods_of(client, "gpu-1"))["items"] == []


def test_a_list_without_an_end_is_left(server: ApiServer, config: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kube, "MOST_PAGES", 5)
    server.replies[PODS] = Reply(body=b'{"metadata":{"continue":"again"},"items":[]}')
    assert "its list does not end" in complaint(config)
    assert len(server.asked) == 5
