"""Which plays answer which question, and what of them is shown."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from bench.study.plays import Answer, Play, Player
from bench.study.tables import (
    ALIGNED,
    FATE,
    FATE_IN_SHORT,
    FATE_OF_POLICIES,
    GIVEN_UP,
    IMPOSSIBLE,
    LARGEST,
    ROOM,
    USE,
    costs,
    fates,
    rows_of,
    spread,
)
from numafit.cluster.sim.table import NUMA_NODES

POLICIES = (
    "none",
    *(
        f"{policy}/{scope}"
        for policy in ("best-effort", "restricted", "single-numa-node")
        for scope in ("container", "pod")
    ),
)
WHOLE = ("--whole-cpus",)
MEMORY = ("--kubelet", "examples/fleet/kubelet-memory.yaml")
FAST, BUSY = 20_000, 100
"""Times as fast as the trace at which the whole fleet, and a tenth of it, is about full at the end."""
SEEDS = range(1, 4)
"""Beside 0, which is the default."""
BLIND = ("stock, blind", "most-allocated, blind")
FEW = ("numafit", *BLIND)
FIVE = ("numafit", "most-allocated", "stock", *BLIND)

Answers = Sequence[tuple[Play, Answer]]


class Question(NamedTuple):
    name: str
    plays: tuple[Play, ...]
    table: Callable[[Answers], str]
    timed: bool = False
    """Its numbers are those of the machine on which they were made."""

    def answered(self, player: Player) -> str:
        return self.table(player.answers(self.plays))


def _whole(name: str, speed: int, *options: str) -> Play:
    return Play(name, ("--speed", str(speed), *WHOLE, *options))


def _tenth(name: str, speed: int, *options: str) -> Play:
    return _whole(name, speed, *options)._replace(tenth=True)


LOADS = (
    _whole("whole, as it came", 1)._replace(rules=FEW),
    _whole("whole, 1,000 x", 1000)._replace(rules=FEW),
    _whole(f"whole, {FAST:,} x", FAST),
    _tenth("tenth, 30 x", 30)._replace(rules=FIVE),
    _tenth(f"tenth, {BUSY} x", BUSY),
)
FLEET = (_whole("", FAST)._replace(policies=POLICIES, rules=FIVE),)
FULL = (_tenth("", BUSY)._replace(policies=("none", "best-effort", "restricted", "single-numa-node"), rules=FIVE),)
MACHINES = tuple(
    # Two are assumed anyway.
    _tenth(str(numa), BUSY, *(() if numa == NUMA_NODES else ("--numa", str(numa))))._replace(rules=FEW)
    for numa in (1, 2, 4, 8)
)
REQUESTS = (
    _tenth("CPUs rounded up", BUSY)._replace(rules=FEW),
    Play("CPUs as in the trace", ("--speed", str(BUSY)), (), FEW, tenth=True),
    _tenth("rounded up, memory manager", BUSY, *MEMORY)._replace(rules=FEW),
)
OWNERS = (
    _tenth("as by its class", BUSY)._replace(rules=BLIND),
    _tenth("all of Jobs", BUSY)._replace(rules=BLIND, owner="Job"),
    _tenth("all of ReplicaSets", BUSY)._replace(rules=BLIND, owner="ReplicaSet"),
)
CHANCE = (
    _tenth("tenth", BUSY)._replace(rules=BLIND),
    *(_tenth("tenth", BUSY, "--seed", str(seed))._replace(rules=BLIND) for seed in SEEDS),
)

QUESTIONS = (
    Question("load", LOADS, lambda found: fates("trace", rows_of(found), (*USE, *FATE))),
    Question("policies", FLEET, lambda found: fates("policy", rows_of(found), (*FATE_OF_POLICIES, LARGEST, *ALIGNED))),
    Question("full", FULL, lambda found: fates("policy", rows_of(found), (*FATE_OF_POLICIES, LARGEST, *ALIGNED))),
    Question("rules", FLEET, lambda found: fates("policy", rows_of(found), ROOM)),
    Question("room", LOADS[2:], lambda found: fates("trace", rows_of(found), ROOM)),
    Question("machines", MACHINES, lambda found: fates("NUMA nodes", rows_of(found), (IMPOSSIBLE, *FATE))),
    Question("requests", REQUESTS, lambda found: fates("pods", rows_of(found), (IMPOSSIBLE, *FATE))),
    Question("owners", OWNERS, lambda found: fates("pods", rows_of(found), (*FATE, GIVEN_UP))),
    Question("chance", CHANCE, lambda found: spread("fleet", rows_of(found), FATE_IN_SHORT)),
    Question("cost", LOADS[2:3], costs, timed=True),
)
