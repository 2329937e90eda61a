"""The agent's side: an order is planned, and carried out when its plan is approved.

Nobody remembers here, either. Each look goes from what stands in the order and in the journal on the node: so it is the
same for an agent that was there all the time and for one that has just begun.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from pathlib import Path

import msgspec

from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.reflector import ObjectChange, Reflector
from numafit.cluster.node.agent import AgentOptions
from numafit.cluster.orders.board import OrderBoard
from numafit.cluster.orders.order import OrderMap, digest_of, order_name, orders_path
from numafit.cluster.orders.survey import NodeSurvey, kubelet_folder, surveyed
from numafit.cluster.orders.words import (
    APPROVED,
    DIGEST,
    KEPT,
    LOG,
    MESSAGE,
    OVER,
    PLAN,
    PLANNED,
    PLANNING,
    REFUSED,
    RUNNING,
    SAME,
    STATUS,
    STEPS,
    TEXT,
    UNDONE,
    UNFINISHED,
)
from numafit.cluster.switch.conduct import conducted
from numafit.cluster.switch.journal import (
    FAILED,
    FOLDER,
    JOURNAL,
    Journal,
    JournalEntry,
    SwitchOrder,
    finished_journal,
    moment,
    new_journal,
    only_one,
    open_journal,
)
from numafit.cluster.switch.plan import SwitchPlan, plan_switch
from numafit.cluster.switch.words import entry_text, plan_text
from numafit.errors import ApiServerError, InputError, NumafitError
from numafit.show.text.notes import notes_text

AGAIN_SECONDS = 10.0
"""After which all is looked at once more, whether or not something was heard."""
MOST_LINES = 1000
"""Of what is waited for, in the log of an order."""


class TakerOptions(msgspec.Struct, frozen=True):
    namespace: str
    """Of the orders."""
    stop_command: str
    start_command: str


class OrderTaker:
    """Made inside a running loop."""

    def __init__(
        self, api: KubeApi, agent: AgentOptions, options: TakerOptions, health: ApiHealth, say: Callable[[str], None]
    ) -> None:
        self.api, self.agent, self.options, self.say = api, agent, options, say
        name = order_name(agent.name)
        self._key = f"{options.namespace}/{name}"
        self._path = f"{orders_path(options.namespace)}/{name}"
        self.seen = Reflector(
            api,
            orders_path(options.namespace),
            OrderMap,
            self._changed,
            parameters={"fieldSelector": f"metadata.name={name}"},
            health=health,
        )
        self._wake = asyncio.Event()
        self._said = ""

    async def run(self) -> None:
        """Until it is cancelled: a switch in the middle is then left to the next one."""
        self.say(f"orders for a switch are taken from {self._key}")
        async with asyncio.TaskGroup() as group:
            group.create_task(self.seen.run())
            group.create_task(self._look_again_and_again())

    def _changed(self, _: ObjectChange[OrderMap]) -> None:
        self._wake.set()

    async def _look_again_and_again(self) -> None:
        await self.seen.synced.wait()
        while True:
            self._wake.clear()
            trouble = ""
            try:
                await self.look()
            except (NumafitError, OSError) as error:
                trouble = str(error)
            if trouble and trouble != self._said:
                self.say(f"switch: {trouble}")
            self._said = trouble
            with suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_SECONDS):
                    await self._wake.wait()

    # --- one look -----------------------------------------------------------------------------------------------------

    async def look(self) -> None:
        order = await self._order()
        here = self._here(await asyncio.to_thread(kubelet_folder, self.agent))
        waits = order is None or order.status in OVER or (order.status == PLANNED and not order.moves)
        if waits and not (here / FOLDER / JOURNAL).exists():
            # The lock is left to those who work on the node itself.
            return
        try:
            with only_one(here):
                await self._take(order, here / FOLDER)
        except InputError as error:
            if order is None or order.status not in ("", PLANNING):
                raise
            await self._refuse(order, str(error))

    async def _order(self) -> OrderMap | None:
        """As it is now: the copy may not have yet what was written last."""
        if self._key not in self.seen.items:
            return None
        try:
            return msgspec.json.decode(await self.api.get(self._path), type=OrderMap)
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                return None
            raise

    async def _take(self, order: OrderMap | None, state: Path) -> None:
        journal = open_journal(state)
        if journal is not None and journal.order.ordered:
            if order is not None and order.metadata.uid == journal.order.ordered:
                if order.status != UNFINISHED:
                    await self._run(journal, order)
                return
            if journal.entries and journal.entries[-1].event != FAILED:
                # Whoever removes an order has not said that it is to be undone.
                await self._run(journal, None)
                return
        if order is None or order.status in OVER:
            return
        if journal is not None:
            cure = "bring it to its end on the node: numafit node switch --continue, or --undo"
            raise InputError(f"the switch of {journal.order.begun} is not finished", source="node", cure=cure)
        ended = finished_journal(state, order.metadata.uid)
        if ended is not None:
            # The one who did it could not tell of it any more.
            log = "\n".join(entry_text(entry) for entry in ended.entries)
            await self._board(order).write({**self._told(ended, ended.entries[-1].step), LOG: log})
        elif order.status in (RUNNING, UNFINISHED):
            await self._refuse(order, f"it had been begun, and its journal is not in {state} any more")
        elif order.undo:
            await self._board(order).write({STATUS: UNDONE, MESSAGE: "nothing had been done"})
        elif order.status != PLANNED or order.moves:
            await self._plan(order, state)

    async def _plan(self, order: OrderMap, state: Path) -> None:
        board = self._board(order)
        await board.write({STATUS: PLANNING})
        survey = await surveyed(self.api, self.agent, order)
        plan = await asyncio.to_thread(plan_switch, survey.question)
        text = plan_text(plan, survey.config, survey.told.cordoned)
        below = notes_text(plan.notes)
        digest = digest_of(order.metadata.uid, plan, survey.told.cordoned, survey.old, survey.new, order.wish())
        words = {
            DIGEST: digest,
            PLAN: msgspec.json.encode(plan).decode(),
            TEXT: f"{text}\n\n{below}" if below else text,
            MESSAGE: "",
        }
        if plan.refusals:
            await board.write({**words, STATUS: REFUSED, MESSAGE: plan.refusals[0]})
        elif survey.old == survey.new:
            await board.write({**words, STATUS: SAME})
        elif order.said(APPROVED) != digest:
            await board.write({**words, STATUS: PLANNED})
        elif await self._still(order, digest):
            self.say(f"the plan {digest[:12]} of {order.metadata.name} is approved")
            await self._run(new_journal(state, self._ordered(order, survey, plan)), order)

    async def _still(self, order: OrderMap, digest: str) -> bool:
        """A plan takes some seconds, in which somebody may have thought better of it."""
        now = await self._order()
        return now is not None and now.metadata.uid == order.metadata.uid and now.said(APPROVED) == digest

    def _ordered(self, order: OrderMap, survey: NodeSurvey, plan: SwitchPlan) -> SwitchOrder:
        wish = order.wish()
        return SwitchOrder(
            begun=moment(),
            node=self.agent.name,
            release=plan.release,
            config=survey.config,
            kubelet_dir=survey.folder,
            new_config=survey.new,
            old_config=survey.old,
            stop_command=self.options.stop_command,
            start_command=self.options.start_command,
            keep_pods=wish.keep_pods,
            moved=tuple(each.file for each in plan.moved),
            policies=plan.policies,
            was_cordoned=survey.told.cordoned,
            process=survey.process,
            pod_entries=plan.pod_entries,
            choice=wish.choice,
            drain_seconds=wish.drain_timeout,
            ready_seconds=wish.ready_timeout,
            settle_seconds=wish.settle,
            ordered=order.metadata.uid,
        )

    # --- the steps ----------------------------------------------------------------------------------------------------

    async def _run(self, journal: Journal, order: OrderMap | None) -> None:
        """`order`: None where it was removed. From where the journal is; an order to undo counts at any moment."""
        journal.use_commands(self.options.stop_command, self.options.start_command)
        board = None if order is None else self._board(order)
        lines = [entry_text(entry) for entry in journal.entries]

        def line(text: str) -> None:
            self.say(f"switch: {text}")
            lines.append(text)
            if board is not None:
                board.post({**self._told(journal, RUNNING), LOG: "\n".join(lines)})

        def tell(text: str) -> None:
            if len(lines) < MOST_LINES:
                line(f"{moment().partition('T')[2].removesuffix('Z')}   {text}")

        def say(entry: JournalEntry) -> None:
            line(entry_text(entry))

        def begun(back: bool) -> asyncio.Task[str]:
            return asyncio.create_task(conducted(self.api, journal, say, tell, back=back, root=self.agent.root))

        back = journal.goes_back or (order is not None and order.undo)
        work = begun(back)
        writing = None if board is None else asyncio.create_task(board.run())
        try:
            while not work.done():
                heard = asyncio.create_task(self._wake.wait())
                await asyncio.wait({work, heard}, return_when=asyncio.FIRST_COMPLETED)
                heard.cancel()
                self._wake.clear()
                if not back and not work.done() and self._to_undo(journal.order.ordered):
                    # As if it had been killed here, which each step is made for.
                    await _cancelled(work)
                    back, work = True, begun(True)
            outcome = work.result()
        finally:
            for task in (work, writing):
                if task is not None:
                    await _cancelled(task)
        self.say(f"switch: {outcome}")
        if board is not None:
            await board.write({**self._told(journal, outcome), LOG: "\n".join(lines)})

    def _to_undo(self, uid: str) -> bool:
        order = self.seen.items.get(self._key)
        return order is not None and order.metadata.uid == uid and order.undo

    # --- what is told -------------------------------------------------------------------------------------------------

    async def _refuse(self, order: OrderMap, why: str) -> None:
        self.say(f"switch: refused: {why}")
        await self._board(order).write({STATUS: REFUSED, MESSAGE: why})

    def _told(self, journal: Journal, status: str) -> dict[str, str]:
        kept = journal.kept.relative_to(self.agent.root)
        return {STATUS: status, STEPS: msgspec.json.encode(journal.entries).decode(), KEPT: f"/{kept}", MESSAGE: ""}

    def _board(self, order: OrderMap) -> OrderBoard:
        return OrderBoard(self.api, order, lambda text: self.say(f"switch: {text}"))

    def _here(self, path: str) -> Path:
        """A path of the node, as it is seen from here."""
        return self.agent.root / path.lstrip("/")


async def _cancelled(task: "asyncio.Task[str] | asyncio.Task[None]") -> None:
    task.cancel()
    with suppress(asyncio.CancelledError, NumafitError, OSError):
        await task
