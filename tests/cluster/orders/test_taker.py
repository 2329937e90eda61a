"""The agent's side, with the steps of a real switch on a node in memory."""

import asyncio
import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.node.agent import AgentOptions
from numafit.cluster.orders import taker as module
from numafit.cluster.orders.order import OrderMap
from numafit.cluster.orders.survey import NodeSurvey
from numafit.cluster.orders.taker import OrderTaker, TakerOptions
from numafit.cluster.switch.conduct import NodeTold
from numafit.cluster.switch.journal import BEGUN, FAILED, Journal, new_journal, only_one
from numafit.cluster.switch.plan import FileMoved, SwitchPlan, SwitchQuestion, plan_switch
from numafit.cluster.switch.steps import Switch
from numafit.ledger.state_files import CPU_FILE
from tests.cluster.orders.order_server import NODE, OrderServer, eventually
from tests.cluster.switch.fake_node import NEW, OLD, REFUSED, FakeNode
from tests.cluster.switch.nodes import config, pod, question

Story = Callable[["World"], Awaitable[None]]


class SlowNode(FakeNode):
    """Its kubelet tells how it is when it is let."""

    def __init__(self, root: Path) -> None:
        super().__init__(root)
        self.goes = asyncio.Event()
        self.goes.set()

    async def ready_since(self, begin: str) -> str:
        await self.goes.wait()
        return await super().ready_since(begin)


class World:
    """A node, its API server, and an agent there that can be killed."""

    def __init__(self, root: Path) -> None:
        self.root, self.node = root, SlowNode(root)
        self.server = OrderServer()
        self.pods = [pod("a")]
        self.policy = "static"
        self.said: list[str] = []
        self.work: asyncio.Task[None] | None = None

    async def surveyed(self, api: KubeApi, options: AgentOptions, order: OrderMap) -> NodeSurvey:
        order.wish()
        asked = question(config(cpuManagerPolicy="none"), config(cpuManagerPolicy=self.policy, **RESERVED), self.pods)
        told = NodeTold(b"", b"", self.node.cordoned)
        here = "/kubelet/config.yaml", "/kubelet"
        return NodeSurvey(asked, told, *here, self.node.config.read_text(), order.said("config"), self.node.process)

    async def conducted(self, api: KubeApi, journal: Journal, say: Any, tell: Any, *, back: bool, root: Path) -> str:
        switch = Switch(journal, self.node, self.node, say, tell, root)
        return await (switch.back() if back else switch.forward())

    def start(self) -> None:
        agent = AgentOptions(NODE, self.root, "/kubelet")
        own = OrderTaker(self.server, agent, TakerOptions("numafit", "stop", "start"), ApiHealth(), self.said.append)
        self.work = asyncio.create_task(own.run())

    async def kill(self) -> None:
        if self.work is not None:
            self.work.cancel()
            with suppress(asyncio.CancelledError):
                await self.work

    async def until(self, status: str) -> None:
        await eventually(lambda: self.server.data.get("status") == status)

    async def ordered(self, new: str = NEW) -> None:
        """And approved."""
        self.server.order(config=new, choices='{"settle": 0, "readyTimeout": 5}')
        await self.until("planned")
        self.server.say(approved=self.server.data["digest"])

    def steps(self) -> list[str]:
        return [entry["step"] for entry in json.loads(self.server.data["steps"])]


RESERVED = {"kubeReserved": {"cpu": "1", "memory": "1Gi"}}


def planned(asked: SwitchQuestion) -> SwitchPlan:
    """The kubelet of the node in memory has one state file."""
    return replace(plan_switch(asked), moved=(FileMoved(CPU_FILE, "why"),), policies={CPU_FILE: "static"})


@pytest.fixture
def told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[[Story], World]:
    def tell(story: Story) -> World:
        async def run() -> World:
            world = World(tmp_path)
            monkeypatch.setattr(module, "surveyed", world.surveyed)
            monkeypatch.setattr(module, "conducted", world.conducted)
            monkeypatch.setattr(module, "plan_switch", planned)
            monkeypatch.setattr(module, "AGAIN_SECONDS", 0.1)
            world.start()
            try:
                await story(world)
            finally:
                await world.kill()
            return world

        return asyncio.run(run())

    return tell


def test_nothing_is_done_before_the_plan_that_was_shown_is_approved(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        world.server.order(config=NEW, choices='{"settle": 0}', approved="another")
        await world.until("planned")
        await asyncio.sleep(0.3)
        assert "default/a: is evicted" in world.server.data["text"]
        assert (world.node.config.read_text(), world.node.evicted) == (OLD, [])
        world.server.say(approved=world.server.data["digest"])
        await world.until("switched")

    world = told(story)
    assert world.node.as_wanted()
    assert world.steps()[-1] == "switched"
    assert "uncordon done" in world.server.data["log"]
    kept = world.server.data["kept"]
    assert kept.startswith("/kubelet/numafit-switch/"), "as the node calls it"
    assert (world.root / kept.lstrip("/") / "before" / CPU_FILE).exists()


def test_a_node_that_has_changed_since_is_planned_and_asked_again(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        world.server.order(config=NEW)
        await world.until("planned")
        before = world.server.data["digest"]
        world.pods.append(pod("b"))
        world.server.say(approved=before)
        await eventually(lambda: world.server.data["digest"] != before)
        await world.until("planned")
        await asyncio.sleep(0.3)

    world = told(story)
    assert "default/b: is evicted" in world.server.data["text"]
    assert world.node.config.read_text() == OLD


def test_what_the_plan_refuses_is_over(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        world.policy = "statik"
        world.server.order(config=NEW)
        await world.until("refused")

    assert "would not start" in told(story).server.data["message"]


@pytest.mark.parametrize(
    ("data", "why"),
    [
        ({}, "the order has no configurations (give one)"),
        ({"config": NEW, "choices": '{"changes": ["a=b"]}'}, "the order has two configurations"),
        ({"config": NEW, "choices": '{"stopCommand": "reboot"}'}, "unknown field `stopCommand`"),
        ({"config": NEW, "choices": '{"settle": -1}'}, "choices: "),
    ],
)
def test_an_order_that_makes_no_sense_is_refused(
    told: Callable[[Story], World], data: dict[str, str], why: str
) -> None:
    async def story(world: World) -> None:
        world.server.order(**data)
        await world.until("refused")

    assert why in told(story).server.data["message"]


def test_a_switch_of_somebody_on_the_node_is_left_alone(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        world.node.journal().write("drain", BEGUN)
        world.server.order(config=NEW)
        await world.until("refused")

    world = told(story)
    assert "is not finished (bring it to its end on the node" in world.server.data["message"]
    assert world.node.config.read_text() == OLD


def test_while_somebody_is_at_work_on_the_node_an_order_is_refused(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        with only_one(world.node.root):
            world.server.order(config=NEW)
            await world.until("refused")

    assert "another switch of this node is at work" in told(story).server.data["message"]


def test_an_agent_that_was_killed_is_followed_by_one_that_goes_on(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        world.node.goes.clear()
        await world.ordered()
        await eventually(lambda: "ready" in world.server.data.get("steps", ""))
        await world.kill()
        assert world.server.data["status"] == "running"
        world.node.goes.set()
        world.start()
        await world.until("switched")

    world = told(story)
    assert world.node.as_wanted()
    assert world.steps().count("write") == 2, "begun and done, once"


def test_an_order_to_undo_counts_in_the_middle(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        world.node.goes.clear()
        await world.ordered()
        await eventually(lambda: "ready" in world.server.data.get("steps", ""))
        world.server.say(undo="true")
        await eventually(lambda: "undo-ready" in world.server.data["steps"])
        world.node.goes.set()
        await world.until("undone")

    world = told(story)
    assert world.node.as_before()
    assert not world.node.cordoned


def test_an_order_to_undo_counts_for_the_next_agent(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        world.node.goes.clear()
        await world.ordered()
        await eventually(lambda: "ready" in world.server.data.get("steps", ""))
        await world.kill()
        world.node.goes.set()
        world.server.say(undo="true")
        world.start()
        await world.until("undone")

    assert told(story).node.as_before()


def test_undoing_what_was_never_begun_is_easy(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        world.server.order(config=NEW)
        await world.until("planned")
        world.server.say(undo="true")
        await world.until("undone")

    assert told(story).node.config.read_text() == OLD


def test_what_fails_is_brought_back(told: Callable[[Story], World], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("numafit.cluster.switch.steps.ABSENT_SECONDS", 0.2)

    async def story(world: World) -> None:
        await world.ordered(REFUSED)
        await world.until("undone")

    assert told(story).node.as_before()


def test_an_end_that_could_not_be_told_is_told_by_the_next(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        await world.ordered()
        await world.until("switched")
        await world.kill()
        world.server.say(status="running", steps=None)
        world.start()
        await world.until("switched")

    assert told(story).steps()[-1] == "switched"


def test_an_order_that_is_removed_in_the_middle_is_brought_to_its_end(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        world.node.goes.clear()
        await world.ordered()
        await eventually(lambda: "ready" in world.server.data.get("steps", ""))
        await world.kill()
        world.server.maps.clear()
        world.node.goes.set()
        world.start()
        await eventually(lambda: "switch: switched" in world.said)

    assert told(story).node.as_wanted()


def test_one_that_is_not_finished_waits_for_a_word(told: Callable[[Story], World]) -> None:
    async def story(world: World) -> None:
        await world.kill()
        world.server.order(config=NEW, status="unfinished")
        uid = world.server.maps["numafit-switch-gpu-1"]["metadata"]["uid"]
        own = world.node.journal().order
        order = replace(own, ordered=uid, config="/kubelet/config.yaml", kubelet_dir="/kubelet")
        new_journal(world.node.root / "numafit-switch", order).write("cordon", FAILED)
        world.start()
        await asyncio.sleep(0.3)
        assert world.server.data["status"] == "unfinished"
        world.server.say(status=None)
        await world.until("switched")

    assert told(story).node.as_wanted()


def test_an_agent_without_work_leaves_the_lock_to_others(
    told: Callable[[Story], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Else somebody on the node would now and then be refused."""

    async def story(world: World) -> None:
        world.server.order(config=NEW)
        await world.until("planned")
        await asyncio.sleep(0.1)
        monkeypatch.setattr(module, "only_one", None)
        await asyncio.sleep(0.3)
        assert world.work is not None
        assert not world.work.done()
        world.server.maps.clear()

    assert len(told(story).said) == 1


def test_an_approval_that_is_taken_back_while_it_is_planned_is_none(
    told: Callable[[Story], World], monkeypatch: pytest.MonkeyPatch
) -> None:
    async def story(world: World) -> None:
        world.server.order(config=NEW)
        await world.until("planned")
        loop = asyncio.get_running_loop()

        def thought_better(asked: SwitchQuestion) -> SwitchPlan:
            loop.call_soon_threadsafe(lambda: world.server.say(approved=None))
            return planned(asked)

        monkeypatch.setattr(module, "plan_switch", thought_better)
        world.server.say(approved=world.server.data["digest"])
        await eventually(lambda: "approved" not in world.server.data)
        await world.until("planned")
        await asyncio.sleep(0.3)

    world = told(story)
    assert world.node.config.read_text() == OLD
    assert world.server.data["status"] == "planned"


@pytest.mark.parametrize("status", ["running", "unfinished"])
def test_what_was_begun_is_not_begun_again_where_its_journal_is_gone(
    told: Callable[[Story], World], status: str
) -> None:
    """Somebody has brought the node in order by hand."""

    async def story(world: World) -> None:
        await world.kill()
        world.server.order(config=NEW, status=status)
        world.start()
        await world.until("refused")

    assert "its journal is not in" in told(story).server.data["message"]
