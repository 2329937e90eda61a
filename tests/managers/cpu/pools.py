"""Nodes with a CPU manager, and ledgers in which somebody holds CPUs."""

from msgspec.structs import replace

from numafit.bits import cpuset_text, parse_cpuset
from numafit.decision.node import Node
from numafit.ledger.ledger import CpuLedger, Ledger
from numafit.workload.pod import Pod
from tests.decision.strategies import SEED_BOX, box, running, settings

BOTH_GATES = {"PodLevelResources": True, "PodLevelResourceManagers": True}
FULL_CORES = {"full-pcpus-only": "true"}


def seed(version: str = "1.36", options: dict[str, str] | None = None) -> tuple[Node, Ledger]:
    """28 CPUs on two NUMA nodes, CPU 0 reserved."""
    return running(SEED_BOX, settings(version, cpu="static", options=options))


def smt(version: str = "1.36", options: dict[str, str] | None = None, reserved: str = "1") -> tuple[Node, Ledger]:
    """Four cores of two threads (i and i + 4) on one NUMA node."""
    return running(box(1, 4, 2), settings(version, cpu="static", options=options, reserved=reserved))


def holding(ledger: Ledger, *pods: Pod, **entries: dict[str, str]) -> Ledger:
    """`entries`: pod UID -> container -> CPUs, taken out of the shared pool. `pods` are active."""
    sets = {uid: {name: parse_cpuset(text) for name, text in own.items()} for uid, own in entries.items()}
    default = ledger.cpu.default
    for own in sets.values():
        for taken in own.values():
            default &= ~taken
    cpu = replace(ledger.cpu, default=default, entries={**ledger.cpu.entries, **sets}, file=None)
    return replace(ledger, cpu=cpu, active={**ledger.active, **{each.uid: each for each in pods}})


def shown(ledger: CpuLedger) -> tuple[str, dict[str, dict[str, str]]]:
    """The shared pool and the entries, as the state file writes them."""
    entries = {uid: {name: cpuset_text(own) for name, own in held.items()} for uid, held in ledger.entries.items()}
    return cpuset_text(ledger.default), entries
