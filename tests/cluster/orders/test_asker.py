"""The side of the command, with an agent of few words."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from numafit.cluster.orders import asker as module
from numafit.cluster.orders.asker import OrderAsker
from numafit.cluster.orders.order import SwitchWish
from numafit.errors import InputError
from tests.cluster.orders.order_server import NODE, Json, OrderServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> OrderServer:
    monkeypatch.setattr(module, "PAUSE", 0.01)
    monkeypatch.setattr(module, "ANSWER_SECONDS", 0.2)
    monkeypatch.setattr(module, "PLAN_SECONDS", 0.2)
    return OrderServer()


def asked(server: OrderServer, ask: Callable[[OrderAsker], Awaitable[Any]]) -> Any:
    """`Any`: what the call returns."""

    async def run() -> Any:
        return await ask(OrderAsker(server, "numafit", NODE))

    return asyncio.run(run())


def planning(server: OrderServer) -> Callable[[Json], None]:
    def react(data: Json) -> None:
        if "status" not in data:
            server.say(status="planned", digest="d1")

    return react


def test_an_order_comes_back_with_its_plan(server: OrderServer) -> None:
    server.react = planning(server)
    order = asked(server, lambda own: own.order("new", SwitchWish(keep_pods=True)))
    assert (order.status, order.said("digest")) == ("planned", "d1")
    assert server.data["config"] == "new"
    assert server.data["choices"] == '{"keepPods":true}'


def test_where_nobody_answers_the_order_is_taken_back(server: OrderServer) -> None:
    with pytest.raises(InputError, match="no agent of node gpu-1 has answered") as caught:
        asked(server, lambda own: own.order("new", SwitchWish()))
    assert "--allow-switch" in caught.value.cure
    assert (server.maps, server.removed) == ({}, 1)


def test_an_order_that_is_there_is_not_lost_over_another(server: OrderServer) -> None:
    server.order(config="old", status="running")
    with pytest.raises(InputError, match="there is an order already, running"):
        asked(server, lambda own: own.order("new", SwitchWish()))
    assert server.data["config"] == "old"


def test_one_that_is_over_makes_place(server: OrderServer) -> None:
    server.order(config="old", status="switched")
    server.react = planning(server)
    asked(server, lambda own: own.order("new", SwitchWish()))
    assert server.data["config"] == "new"


def test_a_plan_that_is_another_by_now_comes_back(server: OrderServer) -> None:
    server.order(config="new", status="planned", digest="d1")
    server.react = lambda data: server.say(digest="d2")

    async def story(own: OrderAsker) -> Any:
        return await own.approve(await own.planned())

    order = asked(server, story)
    assert (order.status, order.said("digest"), order.said("approved")) == ("planned", "d2", "d1")


def test_an_approval_that_nobody_heard_is_taken_back(server: OrderServer) -> None:
    server.order(config="new", status="planned", digest="d1")

    async def story(own: OrderAsker) -> None:
        await own.approve(await own.planned())

    with pytest.raises(InputError, match="has answered within"):
        asked(server, story)
    assert "approved" not in server.data


def test_each_line_of_the_log_is_said_once(server: OrderServer) -> None:
    """An agent that went on does not know what its forerunner waited for."""
    server.order(config="new", status="running", log="1 cordon\n2 waiting")
    said: list[str] = []

    async def story(own: OrderAsker) -> str:
        work = asyncio.create_task(own.followed(said.append))
        await asyncio.sleep(0.05)
        server.say(log="1 cordon\n3 stop", status="switched")
        return (await work).status

    assert asked(server, story) == "switched"
    assert said == ["1 cordon", "2 waiting", "3 stop"]


def test_one_that_waits_for_a_word_gets_it(server: OrderServer) -> None:
    server.order(config="new", status="unfinished")
    server.react = lambda data: server.say(status="running")
    assert asked(server, lambda own: own.go_on(undo=True)).status == "running"
    assert server.data["undo"] == "true"


def test_without_an_order_nothing_goes_on(server: OrderServer) -> None:
    with pytest.raises(InputError, match="there is no order for gpu-1 in the namespace numafit"):
        asked(server, lambda own: own.go_on(undo=False))


def test_an_order_that_somebody_removes_is_told(server: OrderServer) -> None:
    with pytest.raises(InputError, match="somebody has removed the order"):
        asked(server, lambda own: own.followed(print))
