"""Family cpu-assign of the recordings: which CPUs a static policy takes, apart from everything else."""

from collections.abc import Mapping
from typing import Any, Literal

import msgspec
from msgspec.structs import replace

from numafit.bits import cpuset_text, parse_cpuset
from numafit.errors import KubeletPanic, StartError
from numafit.ledger.ledger import Ledger
from numafit.machine.model import Machine
from numafit.machine.topology import cpu_topology
from numafit.managers.ask import ask_of
from numafit.managers.cpu.assignment import take_outcomes
from numafit.managers.cpu.pick.errors import PickError
from numafit.managers.cpu.start import new_cpu_manager, start_cpu_manager
from numafit.managers.protocol import Call, Choices
from numafit.quantity import parse_quantity
from numafit.replay.outcomes import Json, as_recorded, hints_outcome
from numafit.settings.options import cpu_options
from numafit.settings.settings import Settings
from numafit.workload.pod import Container, Pod


class _Input(msgspec.Struct, frozen=True):
    kind: Literal["take", "alloc"]
    count: int = msgspec.field(name="numCPUs")
    available: str = ""
    reserved: int = msgspec.field(default=0, name="numReserved")
    assigned: dict[str, dict[str, str]] | None = None
    affinity: int | None = None


def cpu_case(case: Mapping[str, Any], machine: Machine, settings: Settings, choices: Choices) -> Json:
    """`Any`: the parsed `input` of a recording."""
    given = msgspec.convert(case, _Input)
    work = _take if given.kind == "take" else _allocate
    try:
        return work(given, machine, settings, choices)
    except KubeletPanic as panic:
        return {"panic": str(panic)}


def _take(case: _Input, machine: Machine, settings: Settings, choices: Choices) -> Json:
    behaviour = settings.behaviour
    topology = cpu_topology(machine, behaviour)
    free = parse_cpuset(case.available)
    try:
        outcomes = take_outcomes(topology, behaviour, cpu_options(settings), free, case.count)
        return {"cpus": cpuset_text(choices.cpus("", outcomes)), "error": None}
    except PickError as error:
        return {"error": str(error)}


def _allocate(case: _Input, machine: Machine, settings: Settings, choices: Choices) -> Json:
    settings = replace(settings, cpu_policy="static", reservation={"cpu": parse_quantity(str(case.reserved))})
    try:
        manager = new_cpu_manager(machine, settings, choices)
    except StartError as error:
        # The recording asked the policy itself; the manager says who it was.
        return {"newPolicyError": str(error.cause or error)}
    try:
        ledger = start_cpu_manager(manager, settings, None)
    except StartError as error:
        return {"startError": error.message}
    entries = {
        uid: {name: parse_cpuset(cpus) for name, cpus in containers.items()}
        for uid, containers in (case.assigned or {}).items()
    }
    for containers in entries.values():
        for cpus in containers.values():
            ledger = replace(ledger, default=ledger.default & ~cpus)
    ledger = replace(ledger, entries=entries)
    wanted = {"cpu": parse_quantity(str(case.count)), "memory": parse_quantity("1Gi")}
    container = Container("c", wanted, wanted)
    pod = Pod("pod", "pod", (container,))
    # Not ready: nothing that stands in the state counts as stale here.
    node = Ledger(cpu=ledger, affinity={"pod": {"c": (case.affinity, True)}}, ready=False)
    call = Call(node, ask_of(pod, settings), choices)
    hints = manager.hints(call, container)
    refusal = manager.allocate(call, container)
    taken = call.ledger.cpu.entries.get("pod", {}).get("c", 0)
    return {
        "reservedCPUs": cpuset_text(manager.reserved),
        "hints": as_recorded(hints_outcome(hints)),
        "cpus": cpuset_text(taken),
        "defaultCPUSet": cpuset_text(call.ledger.cpu.default),
        "error": None if refusal is None else refusal.text,
    }
