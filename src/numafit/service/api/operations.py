"""The operations of the API in one table: routes and the OpenAPI document are made from it."""

from typing import Any, Literal, NamedTuple

import msgspec

from numafit.service.api.examples import Example
from numafit.service.leases import Extend, Take
from numafit.service.workers import question
from numafit.show.records.advice import AdviseAnswer
from numafit.show.records.agent import CatalogueMachine, Health, MachineAnswer, OneDecision, Page
from numafit.show.records.audit import AuditAnswer
from numafit.show.records.checkup import CheckupAnswer
from numafit.show.records.comparison import CompareAnswer
from numafit.show.records.elsewhere import WhyNotAnswer
from numafit.show.records.fit import FitAnswer
from numafit.show.records.leases import LeaseList, LeaseRecord
from numafit.show.records.ledger import LedgerView
from numafit.show.records.lint import LintAnswer
from numafit.show.records.log import LogAnswer
from numafit.show.records.node import STATE_PATH, State
from numafit.show.records.past import PastAnswer
from numafit.show.records.patch import PatchAnswer
from numafit.show.records.settings import SettingsView
from numafit.show.records.simulation import SimulateAnswer
from numafit.show.records.story import ExplainAnswer
from numafit.show.records.use import UseAnswer
from numafit.show.records.whatif import WhatIfAnswer

BASE = "/api/v1"
LARGEST_PAGE = 200
LARGEST_ID = 1 << 53

JSON = "application/json"
ANY_TEXT = ("text/plain", "application/gzip", "application/octet-stream")

JsonSchema = Any
"""A JSON schema."""
WHOLE: JsonSchema = {"type": "integer", "minimum": 1, "maximum": LARGEST_ID}


class Parameter(NamedTuple):
    name: str
    place: Literal["query", "path", "header"]
    schema: Any
    """A JSON schema."""
    help: str


class Operation(NamedTuple):
    method: Literal["GET", "POST", "DELETE"]
    path: str
    handler: str
    """The name of the method of `Api`, or the kind of question."""
    summary: str
    answer: type | str
    """The type of the answer; a media type when it is no JSON."""
    body: type | tuple[str, ...] | None = None
    """The type of the body; media types when it is no JSON."""
    parameters: tuple[Parameter, ...] = ()
    problems: tuple[int, ...] = ()
    """Besides those that any request may meet."""
    status: int = 200
    """Of an answer that is no problem."""


_AT = Parameter("at", "query", WHOLE, "The id of a decision: how things stood after it.")
_PAGE = (
    Parameter("limit", "query", {**WHOLE, "maximum": LARGEST_PAGE, "default": 50}, "How many at most."),
    Parameter("before", "query", WHOLE, "Only those older than this id."),
    Parameter("pod", "query", {"type": "string"}, "Only pods whose name contains this."),
    Parameter("verdict", "query", {"type": "string", "enum": ["admitted", "rejected"]}, "Only these."),
)
_ID = (Parameter("id", "path", WHOLE, "The id of a decision."),)
_NAME = (Parameter("name", "path", {"type": "string", "pattern": "^[a-z0-9-]+$"}, "A name of the catalogue."),)
_LEASE = (Parameter("id", "path", {"type": "string", "pattern": "^[0-9a-f]{8}$"}, "The id of a lease."),)
_SEEN = (Parameter("Last-Event-ID", "header", {"type": "string"}, "The last event seen: what was missed comes first."),)
_QUESTION = (400, 408, 413, 415, 422, 503, 504)


def _ask(kind: question.Kind, summary: str, answer: type[msgspec.Struct]) -> Operation:
    return Operation("POST", f"{BASE}/{kind}", kind, summary, answer, question.BODIES[kind], problems=_QUESTION)


OPERATIONS = (
    Operation("GET", f"{BASE}/machine", "machine", "The machine that is shown.", MachineAnswer),
    Operation(
        "GET",
        f"{BASE}/catalogue/{{name}}",
        "catalogue_machine",
        "A machine of the catalogue.",
        CatalogueMachine,
        parameters=_NAME,
        problems=(404,),
    ),
    Operation("GET", f"{BASE}/settings", "settings", "The kubelet of the node, and what may be chosen.", SettingsView),
    Operation("GET", STATE_PATH, "state", "The node that is shown, as its kubelet would find it on disk.", State),
    Operation("GET", f"{BASE}/examples", "examples", "Pods to try things with.", tuple[Example, ...]),
    Operation("GET", f"{BASE}/ledger", "ledger", "Who holds what.", LedgerView, parameters=(_AT,), problems=(400, 404)),
    Operation(
        "GET",
        f"{BASE}/decisions",
        "decisions",
        "What was decided, newest first.",
        Page,
        parameters=_PAGE,
        problems=(400,),
    ),
    Operation(
        "GET",
        f"{BASE}/decisions/{{id}}",
        "decision",
        "One decision with its story.",
        OneDecision,
        parameters=_ID,
        problems=(400, 404),
    ),
    Operation(
        "GET",
        f"{BASE}/events",
        "events",
        "Server-sent events: `hello`, then `decision`, `ledger` and `problem` as they happen.",
        "text/event-stream",
        parameters=_SEEN,
        problems=(503,),
    ),
    _ask("simulate", "What would the kubelet do with these pods?", SimulateAnswer),
    _ask("explain", "Why are these pods admitted or rejected?", ExplainAnswer),
    _ask("advise", "What is the smallest change so that they fit?", AdviseAnswer),
    _ask("fit", "How many more pods of this shape fit?", FitAnswer),
    _ask("compare", "What changes between two kubelets?", CompareAnswer),
    _ask("lint", "Which mistakes are in these files?", LintAnswer),
    _ask("whatif", "Decisions, stories, ledger and advice in one answer.", WhatIfAnswer),
    _ask("why-not", "Why does a pod not go to this NUMA node?", WhyNotAnswer),
    _ask("apply", "A manifest or a configuration with a proposal of `advise` in it.", PatchAnswer),
    _ask("doctor", "Would this kubelet start, and does its state make sense?", CheckupAnswer),
    Operation(
        "POST",
        f"{BASE}/log",
        "log",
        "What does a kubelet's log tell? Plain text or gzip.",
        LogAnswer,
        ANY_TEXT,
        problems=(400, 408, 413, 422, 503, 504),
    ),
    Operation("GET", f"{BASE}/past", "past", "What the jobs of this host did in the last hour.", PastAnswer),
    Operation("GET", f"{BASE}/use", "use", "How busy the machine is, now and in the last minutes.", UseAnswer),
    Operation(
        "GET",
        f"{BASE}/audit",
        "audit",
        "What the kernel does with the jobs of this host; looked at once a minute.",
        AuditAnswer,
        problems=(409, 503),
    ),
    Operation("GET", f"{BASE}/leases", "leases", "The leases of this host.", LeaseList, problems=(409,)),
    Operation(
        "POST",
        f"{BASE}/leases",
        "take_lease",
        "Take a lease (through the unix socket, or with the token).",
        LeaseRecord,
        Take,
        problems=(400, 408, 409, 413, 415, 422),
        status=201,
    ),
    Operation(
        "POST",
        f"{BASE}/leases/{{id}}/extend",
        "extend_lease",
        "Let a lease last longer.",
        LeaseRecord,
        Extend,
        _LEASE,
        (400, 404, 408, 409, 413, 415, 422),
    ),
    Operation(
        "DELETE",
        f"{BASE}/leases/{{id}}",
        "release_lease",
        "Give a lease back.",
        LeaseRecord,
        parameters=_LEASE,
        problems=(404, 409),
    ),
    Operation("GET", "/healthz", "healthz", "The agent is alive.", Health),
    Operation("GET", "/readyz", "readyz", "The node that is shown has been read.", Health, problems=(503,)),
    Operation("GET", "/metrics", "metrics", "Metrics for Prometheus.", "text/plain"),
)


def json_types() -> list[Any]:
    """Every type that is encoded or decoded, each once."""
    found: list[Any] = []
    for operation in OPERATIONS:
        for kind in (operation.answer, operation.body):
            if kind is not None and not isinstance(kind, str | tuple) and kind not in found:
                found.append(kind)
    return found
