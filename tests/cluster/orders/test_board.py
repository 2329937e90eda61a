import asyncio

import pytest

from numafit.cluster.kube.objects import ObjectMeta
from numafit.cluster.orders.board import OrderBoard
from numafit.cluster.orders.order import OrderMap
from tests.cluster.orders.order_server import NAME, OrderServer, eventually


def board(server: OrderServer, said: list[str]) -> OrderBoard:
    server.order(config="new")
    meta = ObjectMeta(NAME, "numafit", server.maps[NAME]["metadata"]["uid"])
    return OrderBoard(server, OrderMap(meta), said.append)


def test_an_api_server_that_is_away_is_told_when_it_is_back() -> None:
    server, said = OrderServer(), list[str]()
    server.refusals = [0, 503]

    async def story() -> None:
        own = board(server, said)
        work = asyncio.create_task(own.run())
        own.post({"status": "running", "log": "one"})
        own.post({"log": "two"})
        await eventually(lambda: server.data.get("log") == "two")
        work.cancel()

    asyncio.run(story())
    assert server.data == {"config": "new", "status": "running", "log": "two"}
    assert said == ["the order is not told of it: refused"], "once"


@pytest.mark.parametrize("again", [False, True])
def test_an_order_that_is_gone_is_told_nothing_more(again: bool) -> None:
    """Nor is another one of its name."""
    server = OrderServer()

    async def story() -> None:
        own = board(server, [])
        server.maps.clear()
        if again:
            server.order(config="another")
        await own.write({"status": "running"})
        await own.write({"status": "switched"})
        assert own.gone

    asyncio.run(story())
    assert "status" not in server.data
