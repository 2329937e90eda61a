"""The page of a cluster over HTTP, with an API server that the test plays."""

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx

from numafit.errors import InputError
from numafit.service.broadcast import Listener
from numafit.service.fleet import nodes as nodes_module
from numafit.service.fleet.app import FleetAgent
from numafit.service.node import NodeSource
from numafit.service.sources.demo import Demo
from tests.cluster.kube.scripted_server import eventually, scripted, told
from tests.cluster.live.cluster_objects import node_object, pod_object, topology_object
from tests.cluster.live.test_fleet import PlayedCluster, run, versioned


def opened(name: str) -> NodeSource:
    if name != "n1":
        raise InputError(f"the cluster has no node {name}", source="a test")
    return Demo("gpu8-128cpu")


@asynccontextmanager
async def served(played: PlayedCluster) -> AsyncIterator[tuple[FleetAgent, httpx.AsyncClient]]:
    async with scripted(played) as (server, _):
        agent = FleetAgent(server.access(), opened)
        transport = httpx.ASGITransport(agent.app)
        async with (
            agent.running(),
            httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1", timeout=30) as client,
        ):
            await eventually(lambda: agent.board.ready and bool(agent.board.tiles or not played.lists))
            yield agent, client


def cluster() -> PlayedCluster:
    played = PlayedCluster()
    played.lists = {
        "nodes": [node_object("n1"), node_object("n2")],
        "nodetopologies": [topology_object("n1")],
        "pods": [pod_object("waits", gpus=8)],
    }
    return played


def test_all_nodes_and_who_waits_are_answered_at_once() -> None:
    async def test() -> None:
        async with served(cluster()) as (_, client):
            answer = (await client.get("/api/v1/fleet")).json()
            assert [(own["name"], own["known"]) for own in answer["nodes"]] == [("n1", True), ("n2", False)]
            assert [own["pod"] for own in answer["waiting"]] == ["team/waits"]
            assert answer["totals"]["nodes"] == 2
            assert (await client.get("/readyz")).status_code == 200

    run(test())


def test_a_change_is_told_once_and_alone() -> None:
    async def test() -> None:
        played = cluster()
        played.lines["nodes"] = [told("MODIFIED", versioned(node_object("n2", unschedulable=True), 9))]
        async with served(played) as (agent, _):
            listener = agent.board.broadcast.listen(lambda: None)
            assert listener is not None
            played.goes_on = True
            event = await asyncio.wait_for(listener.queue.get(), 20)
            assert event is not None
            update = json.loads(event.partition(b"data: ")[2])
            assert [own["name"] for own in update["nodes"]] == ["n2"]
            assert (update["waiting"], update["loops"], update["gone"]) == (None, None, [])

    run(test())


def test_an_api_server_that_halts_is_told_and_that_it_is_back() -> None:
    """Nothing is heard of a cluster that cannot be asked, which looks like one where nothing happens."""

    async def test() -> None:
        played = PlayedCluster()
        played.lists = {"nodes": [node_object("n1")]}
        played.goes_on = True
        async with scripted(played) as (server, _):
            agent = FleetAgent(server.access(), opened)
            transport = httpx.ASGITransport(agent.app)
            async with agent.running(), httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as client:
                await eventually(lambda: agent.board.ready and bool(agent.board.tiles))
                listener = agent.board.broadcast.listen(lambda: None)
                assert listener is not None
                assert (await client.get("/readyz")).json() == {"status": "ok"}
                played.halts = True
                for writer in server.writers:
                    writer.close()
                name, told_problem = await heard(listener)
                assert (name, told_problem["problem"]) == ("problem", agent.board.problem)
                assert "API server" in agent.board.problem
                answer = await client.get("/readyz")
                assert (answer.status_code, answer.json()["problem"]) == (200, agent.board.problem)
                played.halts = False
                assert await heard(listener) == ("problem", {"problem": ""})

    run(test())


async def heard(listener: Listener) -> tuple[str, Any]:
    event = await asyncio.wait_for(listener.queue.get(), 20)
    assert event is not None
    head, _, data = event.partition(b"data: ")
    return head.decode().partition("event: ")[2].strip(), json.loads(data)


def test_who_listens_before_the_cluster_is_read_is_told_all_of_it() -> None:
    async def test() -> None:
        async with scripted(cluster()) as (server, _):
            agent = FleetAgent(server.access(), opened)
            listener = agent.board.broadcast.listen(lambda: None)
            assert listener is not None
            async with agent.running():
                events = [await heard(listener)]
                while events[-1][0] != "whole":
                    events.append(await heard(listener))
            assert [own["name"] for own in events[-1][1]["nodes"]] == ["n1", "n2"]

    run(test())


def test_the_page_is_told_that_it_shows_a_fleet_and_a_node_where_its_agent_lies() -> None:
    async def test() -> None:
        async with served(cluster()) as (_, client):
            assert 'data-shows="fleet"' in (await client.get("/")).text
            assert 'data-shows="node" data-base="/nodes/n1"' in (await client.get("/nodes/n1/")).text
            assert (await client.get("/nodes/N1<script>/")).status_code == 404

    run(test())


def test_a_node_opens_to_an_agent_of_its_own_and_closes_when_nobody_looks(monkeypatch: Any) -> None:
    async def test() -> None:
        async with served(cluster()) as (agent, client):
            answer = await client.get("/nodes/n1/api/v1/machine")
            assert answer.json()["name"] == "gpu8-128cpu"
            assert await agent.nodes.node("n1") is await agent.nodes.node("n1")
            missing = await client.get("/nodes/n9/api/v1/machine")
            assert missing.status_code >= 400
            assert "has no node n9" in missing.json()["detail"]
            monkeypatch.setattr(nodes_module, "IDLE_SECONDS", -1.0)
            await agent.nodes.close_idle()
            assert agent.nodes.names() == []

    run(test())
