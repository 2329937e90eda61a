"""The node at an API server: what is asked of it, and what its answers mean."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from numafit.cluster.switch import server
from numafit.cluster.switch.drain import PodIdentity, PodOnNode
from numafit.cluster.switch.server import NodeAtServer, persistently, refuse_another_machine
from numafit.errors import ApiServerError, DisruptionBudgetError, InputError
from tests.cluster.kube.scripted_server import Answer, Asked, Script, refusal, scripted

POD = PodOnNode(PodIdentity("a", "ml", "u1"))
BUDGET = {
    "kind": "Status",
    "status": "Failure",
    "message": "Cannot evict pod as it would violate the pod's disruption budget.",
    "reason": "TooManyRequests",
    "details": {
        "causes": [
            {
                "reason": "DisruptionBudget",
                "message": "The disruption budget web needs 2 healthy pods and has 2 currently",
            }
        ]
    },
    "code": 429,
}


@pytest.fixture(autouse=True)
def no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)


def asked_of(script: Script, ask: Callable[[NodeAtServer], Awaitable[Any]]) -> tuple[Any, list[Asked]]:
    """`Any`: what the call returns."""

    async def test() -> tuple[Any, list[Asked]]:
        async with scripted(script) as (found, api):
            return await ask(NodeAtServer(api, "n1")), found.asked

    return asyncio.run(asyncio.wait_for(test(), 30))


def test_cordoning_touches_one_field() -> None:
    for cordoned, value in ((True, True), (False, None)):
        _, (asked,) = asked_of(lambda _: Answer(), lambda node, own=cordoned: node.cordon(own))  # type: ignore[misc]
        assert (asked.method, asked.target) == ("PATCH", "/api/v1/nodes/n1")
        assert json.loads(asked.content) == {"spec": {"unschedulable": value}}


def test_pods_are_listed_page_by_page() -> None:
    def script(asked: Asked) -> Answer:
        last = "continue=next" in asked.target
        metadata = {} if last else {"continue": "next"}
        pod = {"metadata": {"name": "b" if last else "a", "namespace": "ml", "uid": "u"}}
        return Answer(json.dumps({"metadata": metadata, "items": [pod]}).encode())

    pods, asked = asked_of(script, lambda node: node.pods())
    assert [pod.name for pod in pods] == ["ml/a", "ml/b"]
    assert all("fieldSelector=spec.nodeName%3Dn1" in each.target for each in asked)


def test_what_is_no_list_is_told_in_one_sentence() -> None:
    with pytest.raises(ApiServerError, match="this is no list of an API server"):
        asked_of(lambda _: Answer(b"[]"), lambda node: node.listed())


def test_an_eviction_is_of_this_very_pod() -> None:
    _, (asked,) = asked_of(lambda _: Answer(status=201), lambda node: node.evict(POD))
    assert (asked.method, asked.target) == ("POST", "/api/v1/namespaces/ml/pods/a/eviction")
    assert json.loads(asked.content)["deleteOptions"] == {"preconditions": {"uid": "u1"}}


@pytest.mark.parametrize("status", [404, 409])
def test_a_pod_that_is_gone_needs_no_eviction(status: int) -> None:
    asked_of(lambda _: refusal(status, "gone"), lambda node: node.evict(POD))


def test_a_budget_that_does_not_let_a_pod_go_is_named() -> None:
    with pytest.raises(DisruptionBudgetError, match="The disruption budget web needs 2 healthy pods"):
        asked_of(lambda _: Answer(json.dumps(BUDGET).encode(), 429), lambda node: node.evict(POD))


def test_a_busy_server_is_no_budget() -> None:
    with pytest.raises(ApiServerError, match="too many requests") as caught:
        asked_of(lambda _: refusal(429, "slow down"), lambda node: node.evict(POD))
    assert not isinstance(caught.value, DisruptionBudgetError)


@pytest.mark.parametrize(
    ("status", "heartbeat", "problem"),
    [
        ("True", "2026-11-16T12:00:30Z", ""),
        ("True", "2026-11-16T12:00:29Z", "nothing was heard of its kubelet since it was started"),
        ("False", "2026-11-16T12:00:31Z", "it is not ready: PLEG"),
        ("Unknown", "2026-11-16T12:00:31Z", "it is not ready: PLEG"),
    ],
)
def test_a_node_is_ready_when_its_new_kubelet_says_so(status: str, heartbeat: str, problem: str) -> None:
    ready = {"type": "Ready", "status": status, "lastHeartbeatTime": heartbeat, "message": "PLEG"}
    node = {"metadata": {"name": "n1"}, "status": {"conditions": [ready]}}
    answer = Answer(json.dumps(node).encode())
    assert asked_of(lambda _: answer, lambda node: node.ready_since("2026-11-16T12:00:30.131Z"))[0] == problem
    if status == "True":
        assert asked_of(lambda _: answer, lambda node: node.ready_since(""))[0] == ""


def test_a_server_that_is_away_for_a_moment_is_asked_again() -> None:
    answers = [refusal(503, "not yet"), refusal(500, "etcd"), Answer()]
    _, asked = asked_of(lambda _: answers.pop(0), lambda node: node.cordon(True))
    assert len(asked) == 3


def test_a_server_that_refuses_is_not_asked_again() -> None:
    with pytest.raises(ApiServerError, match="cannot patch"):
        asked_of(lambda _: refusal(403, "cannot patch"), lambda node: node.cordon(True))


def test_patience_ends(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "PATIENCE", 0.0)

    async def fails() -> None:
        raise ApiServerError("nobody answers")

    with pytest.raises(ApiServerError, match="nobody answers"):
        asyncio.run(persistently(fails))


def test_the_node_of_another_machine_is_refused(tmp_path: Path) -> None:
    """A wrong --node would drain one node, and change another one."""
    for path, content in ((server.BOOT_ID, "b" * 36), (server.MACHINE_ID, "m" * 32)):
        (tmp_path / path).parent.mkdir(parents=True)
        (tmp_path / path).write_text(f"{content}\n")

    def node(boot: str, machine: str) -> bytes:
        return json.dumps({"status": {"nodeInfo": {"bootID": boot, "machineID": machine}}}).encode()

    with pytest.raises(InputError) as refused:
        refuse_another_machine(node("x" * 36, "y" * 32), "gpu-1", tmp_path)
    assert str(refused.value).startswith("--node: gpu-1 is another machine than this one: boot ids differ (")
    refuse_another_machine(node("b" * 36, "y" * 32), "gpu-1", tmp_path)
    # its kubelet has not run since the machine was started
    refuse_another_machine(node("x" * 36, "m" * 32), "gpu-1", tmp_path)
    refuse_another_machine(node("77", ""), "gpu-1", tmp_path)
    refuse_another_machine(node("x" * 36, "y" * 32), "gpu-1", tmp_path / "nothing")
