"""The operations of the API: each reads its request, asks the board or a worker, and answers."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

import msgspec
from msgspec.structs import replace
from starlette.requests import ClientDisconnect, Request
from starlette.responses import Response

from numafit.decision.files import state_files
from numafit.machine.catalogue.names import catalogue, machine_named
from numafit.machine.file.write import machine_value
from numafit.service.api.examples import EXAMPLES
from numafit.service.api.operations import LARGEST_ID, LARGEST_PAGE
from numafit.service.board import Board
from numafit.service.leases import Extend, Leases, Take
from numafit.service.metrics.collector import MEDIA_TYPE as METRICS_TYPE
from numafit.service.metrics.collector import metrics_text
from numafit.service.node import Snapshot
from numafit.service.problem import MEDIA_TYPE, ProblemError, problem, refused
from numafit.service.workers.job import Done
from numafit.service.workers.pool import Pool
from numafit.service.workers.question import WhatIf
from numafit.show.records.agent import CatalogueEntry, CatalogueMachine, Health, MachineAnswer, OneDecision
from numafit.show.records.measure import measured_record
from numafit.show.records.node import State
from numafit.show.records.settings import settings_view
from numafit.workload.written import pod_manifest

LARGEST_BODY = 1 << 20
LARGEST_LOG = 32 << 20
BODY_SECONDS = 10.0
LOG_SECONDS = 60.0
"""For a body to arrive."""
MOST_READ = 64
MOST_LOGS = 4
"""Bodies of questions, and logs, that are in memory at once while they arrive."""
ADVICE_SECONDS = 3.0
"""For the advice in a what-if; without it the rest is answered all the same."""
ADVICE_PATIENCE = 5.0
"""Until somebody is free to give it: those who ask for advice alone may wait longer."""

T = TypeVar("T")
Handler = Callable[[Request], Awaitable[Response]]


class Api:
    """`leases` are those of this host, where it is shown; `writer` says in whose name a request may change them."""

    def __init__(self, board: Board, pool: Pool, leases: Leases | None, writer: Callable[[Any], int]) -> None:
        self.board = board
        self.pool = pool
        self._leases = leases
        self.writer = writer
        self.reading = asyncio.Semaphore(MOST_READ)
        self.logs = asyncio.Semaphore(MOST_LOGS)
        self.shown = _machine_answer(board)
        self.machine_bytes = msgspec.json.encode(self.shown)

    # --- what is shown ---------------------------------------------------------------------------------------------

    async def machine(self, request: Request) -> Response:
        found = await asyncio.to_thread(self._leases.measured) if self._leases is not None else None
        if found is None:
            return json_bytes(self.machine_bytes)
        return json_of(replace(self.shown, measured=measured_record(found)))

    async def catalogue_machine(self, request: Request) -> Response:
        name = request.path_params["name"]
        if name not in catalogue():
            raise refused(404, f"no machine in the catalogue is called {name[:60]!r}", cure="GET /api/v1/machine lists")
        return json_of(CatalogueMachine(machine_value(machine_named(name))))

    async def settings(self, request: Request) -> Response:
        snapshot = self.board.snapshot
        node, place = snapshot.stage.node, snapshot.place
        reserved = node.cpu.reserved if node.cpu.static else 0
        return json_of(settings_view(node.settings, place.kubelet, reserved, example=place.assumed))

    async def state(self, request: Request) -> Response:
        return json_of(state_of(self.board.snapshot))

    async def examples(self, request: Request) -> Response:
        return json_of(EXAMPLES)

    async def ledger(self, request: Request) -> Response:
        at = _number(request, "at")
        if at is None:
            return json_bytes(bytes(self.board.ledger))
        return json_bytes(bytes(self._entry(at).ledger))

    async def past(self, request: Request) -> Response:
        return json_of(self.board.past.answer())

    async def use(self, request: Request) -> Response:
        return json_of(self.board.recent.answer())

    async def audit(self, request: Request) -> Response:
        self._of_host()
        found = self.board.audited.answer
        if found is None:
            raise refused(503, "this host has not been looked at yet", cure="ask again in a minute")
        return json_of(found)

    async def decisions(self, request: Request) -> Response:
        verdict = request.query_params.get("verdict")
        if verdict not in (None, "admitted", "rejected"):
            raise refused(400, "verdict is admitted or rejected")
        limit = _number(request, "limit", most=LARGEST_PAGE) or 50
        pod = request.query_params.get("pod", "")
        before = _number(request, "before")
        return json_of(self.board.history.page(limit=limit, before=before, pod=pod, verdict=verdict or ""))

    async def decision(self, request: Request) -> Response:
        entry = self._entry(_whole(request.path_params["id"], "id"))
        told = msgspec.structs.astuple(entry.summary)
        manifest = "" if entry.pod is None else pod_manifest(entry.pod)
        return json_of(OneDecision(*told, story=entry.story, ledger=entry.ledger, notes=entry.notes, manifest=manifest))

    def _entry(self, number: int) -> Any:
        entry = self.board.history.entries.get(number)
        if entry is None:
            raise refused(404, f"there is no decision {number}", cure="GET /api/v1/decisions lists those remembered")
        return entry

    # --- questions --------------------------------------------------------------------------------------------------

    def asks(self, kind: str) -> Handler:
        async def handler(request: Request) -> Response:
            return answered(await self.pool.ask(kind, await self._question(request)))

        return handler

    async def _question(self, request: Request) -> bytes:
        async with self.reading:
            return await json_body(request)

    async def whatif(self, request: Request) -> Response:
        """The decision comes from the quick lane, the advice, which takes longer, from the other."""
        body = await self._question(request)
        done = await self.pool.ask("whatif", body)
        if done.status != 200:
            return answered(done)
        asked = msgspec.json.decode(body, type=WhatIf)
        if not asked.advice or asked.events is not None:
            return answered(done)
        answer = msgspec.json.decode(done.content, type=dict[str, msgspec.Raw])
        try:
            advice = await self.pool.ask("advise", _without(body, "advice"), ADVICE_SECONDS, ADVICE_PATIENCE)
        except ProblemError as error:
            answer["adviceProblem"] = msgspec.Raw(msgspec.json.encode(error.problem.detail))
        else:
            if advice.status == 200:
                answer["advice"] = msgspec.Raw(advice.content)
        return json_of(answer)

    async def log(self, request: Request) -> Response:
        if self.logs.locked():
            raise refused(503, "other logs are being read", cure="ask again later", headers={"Retry-After": "10"})
        async with self.logs:
            body = await read_body(request, LARGEST_LOG, LOG_SECONDS)
            return answered(await self.pool.ask("log", body))

    # --- leases -----------------------------------------------------------------------------------------------------

    async def leases(self, request: Request) -> Response:
        return json_of(await asyncio.to_thread(self._of_host().all))

    async def take_lease(self, request: Request) -> Response:
        uid = self.writer(request.scope)
        asked = await _decoded(request, Take)
        return json_of(await asyncio.to_thread(self._of_host().take, asked, uid), 201)

    async def extend_lease(self, request: Request) -> Response:
        uid = self.writer(request.scope)
        asked = await _decoded(request, Extend)
        return json_of(await asyncio.to_thread(self._of_host().extend, request.path_params["id"], asked, uid))

    async def release_lease(self, request: Request) -> Response:
        uid = self.writer(request.scope)
        return json_of(await asyncio.to_thread(self._of_host().release, request.path_params["id"], uid))

    def _of_host(self) -> Leases:
        if self._leases is None:
            raise refused(409, "this agent does not show a host: there are no leases", cure="start it without --demo")
        return self._leases

    # --- health -----------------------------------------------------------------------------------------------------

    async def healthz(self, request: Request) -> Response:
        return json_of(Health("ok"))

    async def readyz(self, request: Request) -> Response:
        ready = self.board.ready
        return json_of(Health("ok" if ready else "waiting", self.board.problem), 200 if ready else 503)

    async def metrics(self, request: Request) -> Response:
        return Response(metrics_text(self.board), 200, {"Cache-Control": "no-store", "Content-Type": METRICS_TYPE})


def _machine_answer(board: Board) -> MachineAnswer:
    place = board.snapshot.place
    entries = tuple(CatalogueEntry(name, line) for name, line in catalogue().items())
    return MachineAnswer(machine_value(place.machine), place.name, place.kind, entries)


def json_bytes(content: bytes, status: int = 200) -> Response:
    return Response(content, status, {"Cache-Control": "no-store"}, "application/json")


def json_of(value: object, status: int = 200) -> Response:
    return json_bytes(msgspec.json.encode(value), status)


def answered(done: Done) -> Response:
    if done.status == 200:
        return json_bytes(done.content)
    return Response(done.content, done.status, {"Cache-Control": "no-store"}, MEDIA_TYPE)


async def json_body(request: Request) -> bytes:
    """Its media type must be that of JSON: what an HTML form can send is no question."""
    media_type = request.headers.get("content-type", "").partition(";")[0].strip().lower()
    if media_type != "application/json":
        raise refused(415, "the body must be application/json")
    return await read_body(request, LARGEST_BODY, BODY_SECONDS)


async def _decoded(request: Request, kind: type[T]) -> T:
    try:
        return msgspec.json.decode(await json_body(request), type=kind)
    except msgspec.ValidationError as error:
        raise refused(422, f"the body does not fit: {error}") from None
    except (msgspec.DecodeError, UnicodeDecodeError) as error:
        raise refused(400, f"the body is not JSON: {error}") from None


async def read_body(request: Request, most: int, seconds: float) -> bytes:
    too_large = refused(413, f"the body is larger than {most >> 20} MiB")
    length = request.headers.get("content-length", "")
    if length.isdigit() and int(length) > most:
        raise too_large
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            async for chunk in request.stream():
                body += chunk
                if len(body) > most:
                    raise too_large
    except TimeoutError:
        raise refused(408, f"the body did not arrive within {seconds:g} s") from None
    except ClientDisconnect:
        raise refused(400, "the body ended too early") from None
    return bytes(body)


def _without(body: bytes, name: str) -> bytes:
    fields = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    fields.pop(name, None)
    return msgspec.json.encode(fields)


def _number(request: Request, name: str, most: int = LARGEST_ID) -> int | None:
    """None when it is not asked for."""
    text = request.query_params.get(name)
    return None if text is None else _whole(text, name, most)


def _whole(text: str, name: str, most: int = LARGEST_ID) -> int:
    if not (text.isascii() and text.isdecimal() and len(text) < 17 and 1 <= int(text) <= most):
        raise ProblemError(problem(400, f"{name} is a whole number from 1 to {most}", field=name))
    return int(text)


def state_of(snapshot: Snapshot) -> State:
    place = snapshot.place
    files = state_files(snapshot.stage.node, snapshot.ledger)
    pods = msgspec.to_builtins(tuple(snapshot.ledger.active.values()), enc_hook=str)
    facts = msgspec.to_builtins(place.facts, enc_hook=str)
    return State(
        machine_value(place.machine), place.kubelet, place.version, files, snapshot.revision, pods, place.assumed, facts
    )
