"""Which decisions would be others if what was guessed of the machine is otherwise.

The same events are played on each machine that the sources do not rule out (`machine.alternatives`). A machine on which
this kubelet would not start, or whose reserved CPUs somebody holds already, is not the one.
"""

from collections.abc import Mapping

import msgspec

from numafit.decision.assumed import assumed_words
from numafit.decision.decision import Decision
from numafit.decision.node import Node
from numafit.decision.simulation import Simulation, play_events
from numafit.decision.start import Start, start
from numafit.errors import InputError, StartError
from numafit.machine.alternatives import alternatives
from numafit.machine.model import Machine
from numafit.notes import Note

MATTER_CODES = {
    "numa": "numa-matters",
    "core": "cores-matter",
    "socket": "sockets-matter",
    "uncore_cache": "caches-matter",
    "distances": "distances-matter",
}
_WHAT = {
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


def unsure_steps(simulation: Simulation) -> dict[int, Unsure]:
    """By the number of the step. Of several machines that decide otherwise, the one with the fewest differences."""
    node, events = simulation.node, simulation.events
    pods = [event.pod for event in events if event.pod is not None]
    words = [word for word in assumed_words(node, pods) if word in MATTER_CODES]
    if not words or not simulation.steps:
        return {}
    unsure: dict[int, Unsure] = {}
    for alternative in alternatives(node.machine, words):
        other = _node_on(node, alternative.machine)
        if other is None or other.cpu.reserved & ~simulation.before.cpu.default & node.cpu.topology.cpus:
            continue
        played = play_events(other, simulation.before, events, simulation.allocatable).steps
        for number, step in enumerate(simulation.steps):
            there = played[number].decision if number < len(played) else None
            if number not in unsure and (there is None or not _same(step.decision, there)):
                verdict = there is None or _verdict(step.decision) != _verdict(there)
                unsure[number] = Unsure(alternative.words, there, verdict)
        if len(unsure) == len(simulation.steps):
            break
    return dict(sorted(unsure.items()))


def unsure_notes(simulation: Simulation, unsure: Mapping[int, Unsure]) -> tuple[Note, ...]:
    return tuple(
        Note(
            MATTER_CODES[own.words[0]],
            simulation.steps[number].decision.pod.full_name,
            _text(own),
        )
        for number, own in unsure.items()
    )


def _node_on(node: Node, machine: Machine) -> Node | None:
    """The same kubelet on another machine, of which only CPUs and distances may differ."""
    known = Start(
        machine=machine,
        settings=node.settings,
        numa_mask=node.device.numa_nodes,
        memory=(node.memory, node.idle_memory),
        plugins=node.device.plugins,
    )
    try:
        return start(known, "node").node
    except (StartError, InputError):
        return None


def _same(one: Decision, other: Decision) -> bool:
    """What a rejected pod leaves behind is nothing that it gets."""
    return _verdict(one) == _verdict(other) and (not one.admitted or one.containers == other.containers)


def _verdict(decision: Decision) -> tuple[bool, str, str]:
    """Without the message, which may name numbers of the machine."""
    return decision.admitted, decision.reason, decision.panic


def _text(unsure: Unsure) -> str:
    """The same for all pods that the same guess matters to, so that it is said once."""
    what = " and ".join(_WHAT[word] for word in unsure.words)
    depends = "whether it is admitted depends" if unsure.verdict else "what it gets depends"
    tool = "numactl --hardware" if unsure.words[0] in ("numa", "distances") else "lscpu -p"
    return f"{depends} on a guess about {what}; give `{tool}` or /sys"
