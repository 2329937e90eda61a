"""Many kubelets over one copy of the pods: from a binding to a status, and through restarts."""

import asyncio
import contextlib
import json
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Any

import pytest

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.sim.fleet import SimulatedFleet
from numafit.cluster.sim.group import simulated_nodes
from numafit.cluster.sim.node_object import SIMULATED
from numafit.errors import InputError
from tests.cluster.sim.fake_api import FakeApi
from tests.cluster.sim.test_group import group

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"


def served(name: str, cpu: str, node: str = "gpu-0", **metadata: Any) -> dict[str, Any]:
    limits = {"cpu": cpu, "memory": "64Mi"}
    meta = {"name": name, "namespace": "default", "uid": f"uid-{name}", "resourceVersion": "2", "generation": 1}
    return {
        "metadata": {**meta, **metadata},
        "spec": {"nodeName": node, "containers": [{"name": "c", "resources": {"limits": limits}}]},
        "status": {"phase": "Pending"},
    }


def played(
    api: FakeApi, act: Callable[[SimulatedFleet], Awaitable[None]], state: Path | None = None, **more: Any
) -> list[str]:
    """What was warned of."""
    warned: list[str] = []

    async def run() -> None:
        fleet = SimulatedFleet(
            api, tuple(simulated_nodes([group(start_seconds=0.0, **more)], state)), ApiHealth(), warned.append
        )
        ready = asyncio.Event()
        work = asyncio.create_task(fleet.run(ready.set))
        waits = asyncio.create_task(ready.wait())
        await asyncio.wait({work, waits}, return_when=asyncio.FIRST_COMPLETED)
        waits.cancel()
        if not work.done():
            await act(fleet)
            work.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await work

    asyncio.run(run())
    return warned


async def settled(fleet: SimulatedFleet, api: FakeApi) -> None:
    """Until nothing is asked any more."""
    many = -1
    while many != len(api.asked) or fleet.writer.waiting or api.told.qsize():
        many = len(api.asked)
        await asyncio.sleep(0.03)


def statuses(api: FakeApi, name: str) -> list[dict[str, Any]]:
    path = f"/api/v1/namespaces/default/pods/{name}/status"
    return [asked.content["status"] for asked in api.asked if asked.path == path]


def test_nodes_register_and_renew_their_leases() -> None:
    api = FakeApi()

    async def act(fleet: SimulatedFleet) -> None:
        await settled(fleet, api)

    played(api, act)
    assert api.paths("POST")[:3] == [NODES] * 3
    assert sum("leases" in path for path in api.paths("PATCH")) >= 3


def test_a_node_that_no_simulation_made_is_never_touched() -> None:
    api = FakeApi()
    api.lists[NODES] = [{"metadata": {"name": "gpu-1", "labels": {}}}]

    async def act(fleet: SimulatedFleet) -> None:
        pass

    with pytest.raises(InputError, match="there is a node that no simulation has made: gpu-1"):
        played(api, act)
    assert api.paths("POST") == api.paths("PATCH") == []


def test_pods_are_decided_as_they_are_bound_and_others_are_nobodys_business() -> None:
    api = FakeApi()

    async def act(fleet: SimulatedFleet) -> None:
        api.tell("ADDED", served("a", "2"))
        api.tell("ADDED", served("wide", "9"))
        api.tell("ADDED", served("other", "2", node="elsewhere"))
        await settled(fleet, api)
        api.tell(
            "MODIFIED", served("a", "2", resourceVersion="3", generation=2, deletionTimestamp="2026-01-01T00:00:00Z")
        )
        await settled(fleet, api)
        api.tell("DELETED", served("a", "2", resourceVersion="4"))
        await settled(fleet, api)
        assert list(fleet.reflector.items) == ["default/wide"]

    assert played(api, act) == []
    assert [own["phase"] for own in statuses(api, "a")][-1] == "Failed"
    assert "Running" in [own["phase"] for own in statuses(api, "a")]
    assert [own["reason"] for own in statuses(api, "wide")] == ["TopologyAffinityError"]
    assert statuses(api, "other") == []
    assert api.paths("DELETE") == ["/api/v1/namespaces/default/pods/a"]
    (event,) = [asked.content for asked in api.asked if asked.path.endswith("/events")]
    assert (event["reason"], event["source"]) == ("TopologyAffinityError", {"component": "kubelet", "host": "gpu-0"})


def test_what_was_told_already_is_not_told_again() -> None:
    """A change that only shows what we wrote makes no other one."""
    api = FakeApi()

    async def act(fleet: SimulatedFleet) -> None:
        api.tell("ADDED", served("a", "2"))
        await settled(fleet, api)
        many = len(statuses(api, "a"))
        api.tell("MODIFIED", served("a", "2", resourceVersion="5"))
        await settled(fleet, api)
        assert len(statuses(api, "a")) == many

    played(api, act)


def test_a_fleet_that_begins_again_goes_on_from_its_state(tmp_path: Path) -> None:
    first = FakeApi()

    async def fills(fleet: SimulatedFleet) -> None:
        for name, cpu in (("a", "2"), ("b", "3")):
            first.tell("ADDED", served(name, cpu))
        await settled(fleet, first)
        first.tell("DELETED", served("a", "2"))
        await settled(fleet, first)

    played(first, fills, tmp_path)
    held = (tmp_path / "gpu-0" / "cpu_manager_state").read_text()
    second = FakeApi()
    there = {**served("b", "3"), "status": statuses(first, "b")[-1]}
    second.lists[PODS] = [there]
    second.lists[NODES] = [
        {"metadata": {"name": f"gpu-{i}", "uid": "u", "labels": {SIMULATED: "true"}}} for i in range(3)
    ]

    async def goes_on(fleet: SimulatedFleet) -> None:
        await settled(fleet, second)

    played(second, goes_on, tmp_path)
    assert second.paths("POST") == []
    entry = '"uid-b":{"c":"2,8,10"}'
    assert entry in held
    assert entry in (tmp_path / "gpu-0" / "cpu_manager_state").read_text()
    assert statuses(second, "b")[-1]["containerStatuses"] == there["status"]["containerStatuses"]


def test_a_pod_that_cannot_be_read_is_left_out_with_a_word() -> None:
    api = FakeApi()

    async def act(fleet: SimulatedFleet) -> None:
        api.tell("ADDED", {**served("odd", "2"), "spec": {"nodeName": "gpu-0", "containers": []}})
        api.tell("ADDED", served("a", "2"))
        await settled(fleet, api)

    (warned,) = played(api, act)
    assert "default/odd" in warned
    assert statuses(api, "a")


def test_labels_that_somebody_gives_a_node_count_for_pods_that_come() -> None:
    """As for a kubelet, which looks at its Node: an operator that labels nodes, and binds pods by labels."""
    api = FakeApi()
    node = {
        "metadata": {"name": "gpu-0", "resourceVersion": "5", "labels": {SIMULATED: "true", "zone": "a"}},
        "spec": {},
    }

    def wants_zone(name: str) -> dict[str, Any]:
        pod = served(name, "1")
        pod["spec"]["nodeSelector"] = {"zone": "a"}
        return pod

    async def act(fleet: SimulatedFleet) -> None:
        api.tell("ADDED", wants_zone("early"))
        await settled(fleet, api)
        api.nodes_told.put_nowait(json.dumps({"type": "MODIFIED", "object": node}).encode())
        await asyncio.sleep(0.05)
        api.tell("ADDED", wants_zone("late"))
        await settled(fleet, api)

    played(api, act)
    assert statuses(api, "early")[-1]["reason"] == "NodeAffinity"
    assert "reason" not in statuses(api, "late")[-1]
