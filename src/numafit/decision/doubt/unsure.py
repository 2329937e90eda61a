"""Which decisions would be others if what was guessed of the machine is otherwise.

The same events are played on each machine that the sources do not rule out (`machine.alternatives`). A machine on which
this kubelet would not start, or whose reserved CPUs somebody holds already, is not the one. Where the numbers of the
CPUs are made up, other numbers are no other decision: how many CPUs of each NUMA node a container gets is compared.
"""

from collections.abc import Collection, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.decision.decide import decide
from numafit.decision.decision import Decision
from numafit.decision.doubt.assumed import assumed_words
from numafit.decision.history.event import AddPods
from numafit.decision.node import Node
from numafit.decision.simulation import Simulation, play, play_events
from numafit.decision.start import Start, start
from numafit.errors import InputError, StartError
from numafit.ledger.ledger import Ledger
from numafit.machine.alternatives import alternatives
from numafit.machine.model import CPU_IDS, Machine
from numafit.managers.ask import ask_of
from numafit.notes import Note
from numafit.workload.pod import Pod

MOST_DECISIONS = 2000
_OF_PICKS = {CPU_IDS, "core", "socket", "uncore_cache"}
"""What only the picking of exclusive CPUs looks at."""

MADE_UP = "cpu-numbers-made-up"
"""A pod gets CPUs whose numbers are made up."""

MATTER_CODES = {
    CPU_IDS: "cpu-numbers-matter",
    "numa": "numa-matters",
    "core": "cores-matter",
    "socket": "sockets-matter",
    "uncore_cache": "caches-matter",
    "distances": "distances-matter",
}
_WHAT = {
    CPU_IDS: "the numbers of the CPUs",
    "numa": "the NUMA nodes of the CPUs",
    "core": "the cores",
    "socket": "the sockets",
    "uncore_cache": "the uncore caches",
    "distances": "the distances",
}


class Unsure(msgspec.Struct, frozen=True):
    """A decision that depends on a guess."""

    words: tuple[str, ...]
    """What would have to be otherwise, in the words of `Machine.assumed`."""
    other: Decision | None
    """The decision there; None where the kubelet would have crashed before it."""
    verdict: bool
    """It is another verdict; else the pod gets something else."""


def guesses_that_matter(node: Node, pods: Collection[Pod]) -> list[str]:
    """Words of `Machine.assumed` that a decision about these pods may depend on."""
    return [word for word in assumed_words(node, pods) if word in MATTER_CODES]


def unsure_steps(simulation: Simulation) -> dict[int, Unsure]:
    """By the number of the step. Of several machines that decide otherwise, one with another verdict, and of those the
    one with the fewest differences.

    After MOST_DECISIONS no further machine is tried: the note of the guess itself stands in any case. Other numbers of
    the CPUs are tried always, since a note says that they do not matter.
    """
    node, steps = simulation.node, simulation.steps
    words = guesses_that_matter(node, [step.decision.pod for step in steps])
    if not words:
        return {}
    untouched = _untouched(simulation) if set(words) <= _OF_PICKS else frozenset()
    unsure: dict[int, Unsure] = {}
    made = 0
    for alternative in alternatives(node.machine, words):
        if made > MOST_DECISIONS and alternative.words != (CPU_IDS,):
            break
        other = _node_on(node, alternative.machine)
        begin = None if other is None else _begin_on(other, simulation)
        if other is None or begin is None:
            continue
        played, more = _decisions(simulation, other, begin, untouched)
        homes = (_homes(node), _homes(other)) if CPU_IDS in node.machine.assumed else None
        made += more
        for number, step in enumerate(steps):
            there = played[number] if number < len(played) else None
            verdict = there is None or _verdict(step.decision) != _verdict(there)
            differs = there is None or not _same(step.decision, there, homes)
            known = unsure.get(number)
            # One by other numbers stays: a note says of all others that the numbers do not matter.
            weaker = known is not None and not known.verdict and CPU_IDS not in known.words
            if (differs and known is None) or (verdict and weaker):
                unsure[number] = Unsure(alternative.words, there, verdict)
        if sum(own.verdict for own in unsure.values()) == len(steps):
            break
    return dict(sorted(unsure.items()))


def _untouched(simulation: Simulation) -> frozenset[int]:
    """The steps whose pods take no CPUs of their own: which CPUs belong together is nothing to them."""
    settings = simulation.node.settings
    asks = [ask_of(step.decision.pod, settings) for step in simulation.steps]
    return frozenset(number for number, ask in enumerate(asks) if ask.pod_cpus == 0 and not any(ask.cpus.values()))


def _begin_on(other: Node, simulation: Simulation) -> Ledger | None:
    """What the run began with, on another machine; None where somebody holds a CPU that is reserved there.

    With strict-cpu-reservation the shared pool is without the reserved CPUs, which may be others there.
    """
    node, before = simulation.node, simulation.before
    strict = node.cpu.options.strict_cpu_reservation
    unheld = before.cpu.default | (node.cpu.reserved if strict else 0)
    if other.cpu.reserved & ~unheld & node.cpu.topology.cpus:
        return None
    if not strict or other.cpu.reserved == node.cpu.reserved:
        return before
    return replace(before, cpu=replace(before.cpu, default=unheld & ~other.cpu.reserved))


def _decisions(
    simulation: Simulation, node: Node, begin: Ledger, untouched: frozenset[int]
) -> tuple[list[Decision], int]:
    """What another node decides, and how many decisions that took: as long as all is the same, few."""
    steps, allocatable = simulation.steps, simulation.allocatable
    if begin is not simulation.before or any(not isinstance(event, AddPods) for event in simulation.events):
        played = play_events(replace(simulation.begin, node=node, ledger=begin), simulation.events).steps
        return [step.decision for step in played], len(played)
    found: list[Decision] = []
    made = 0
    for number, step in enumerate(steps):
        if number in untouched or step.before is None:
            found.append(step.decision)
            continue
        decision = decide(node, step.before, step.decision.pod, allocatable)
        made += 1
        if decision.ledger != step.decision.ledger or not _same(step.decision, decision):
            rest = play(node, step.before, [later.decision.pod for later in steps[number:]], allocatable).steps
            return [*found, *(later.decision for later in rest)], made + len(rest)
        found.append(decision)
    return found, made


def unsure_notes(simulation: Simulation, unsure: Mapping[int, Unsure]) -> tuple[Note, ...]:
    names = [step.decision.pod.full_name for step in simulation.steps]
    matter = tuple(Note(MATTER_CODES[own.words[0]], names[number], _text(own)) for number, own in unsure.items())
    if CPU_IDS not in simulation.node.machine.assumed:
        return matter
    text = "the numbers of its CPUs are made up; how many it gets on which NUMA node does not depend on them"
    numbered = (
        Note(MADE_UP, names[number], text)
        for number, step in enumerate(simulation.steps)
        if _has_own_cpus(step.decision) and not (number in unsure and CPU_IDS in unsure[number].words)
    )
    return (*matter, *dict.fromkeys(numbered))


def _has_own_cpus(decision: Decision) -> bool:
    return decision.admitted and any(own.cpus for own in decision.containers.values())


def _node_on(node: Node, machine: Machine) -> Node | None:
    """The same kubelet on another machine, of which only CPUs and distances may differ."""
    known = Start(
        machine=machine,
        settings=node.settings,
        numa_mask=node.device.numa_nodes,
        memory=(node.memory, node.idle_memory),
        plugins=node.device.plugins,
        facts=node.facts,
    )
    try:
        return start(known, "node").node
    except (StartError, InputError):
        return None


Homes = Sequence[int]
"""The CPUs of each NUMA node, as masks."""


def _homes(node: Node) -> Homes:
    return [cpus for _, cpus in sorted(node.cpu.topology.numa_nodes.items())]


def _same(one: Decision, other: Decision, homes: tuple[Homes, Homes] | None = None) -> bool:
    """What a rejected pod leaves behind is nothing that it gets. With `homes` of both, numbers of CPUs say nothing."""
    if _verdict(one) != _verdict(other):
        return False
    if not one.admitted or one.containers == other.containers:
        return True
    return homes is not None and _counted(one, homes[0]) == _counted(other, homes[1])


def _counted(decision: Decision, homes: Homes) -> dict[str, tuple[object, ...]]:
    return {
        name: (
            own.affinity,
            None if own.cpus is None else [(own.cpus & cpus).bit_count() for cpus in homes],
            own.memory,
            own.devices,
        )
        for name, own in decision.containers.items()
    }


def _verdict(decision: Decision) -> tuple[bool, str, str]:
    """Without the message, which may name numbers of the machine."""
    return decision.admitted, decision.reason, decision.panic


def _text(unsure: Unsure) -> str:
    """The same for all pods that the same guess matters to, so that it is said once."""
    what = " and ".join(_WHAT[word] for word in unsure.words)
    depends = "whether it is admitted depends" if unsure.verdict else "what it gets depends"
    tool = "numactl --hardware" if unsure.words[0] in ("numa", "distances") else "lscpu -p"
    return f"{depends} on a guess about {what}; give `{tool}` or /sys"
