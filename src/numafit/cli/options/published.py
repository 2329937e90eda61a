"""A node as numafit's agent on it publishes it: machine, kubelet and what its pods hold, in the place of guesses."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from numafit.cli.files import read_bytes, read_text
from numafit.cli.options.case import UNUSED, CaseParts
from numafit.cli.options.node import NodeOptions
from numafit.decision.life import freed
from numafit.decision.stage import Stage
from numafit.decision.start import Start, start
from numafit.errors import InputError, StartError
from numafit.notes import Note
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.workload.pod import Pod
from numafit.workload.reading import REPLAYED

if TYPE_CHECKING:
    from numafit.cluster.topology.model import NodeTopology
    from numafit.settings.node_object import NodeObject

# Read by code that most commands do without: they start quicker.


def with_published(options: NodeOptions, parts: CaseParts) -> NodeOptions:
    """What pods hold belongs to one machine and one kubelet: where a person says otherwise it is not used."""
    other = options.overruling or ("machine.yaml in the folder" if parts.given_machine else "")
    if not other:
        return replace(options, published=parts.published, notes=options.notes + _otherwise(parts))
    text = f"what its pods hold is not taken from its NodeTopology: {other} says otherwise of the node"
    return replace(options, notes=(*options.notes, Note(UNUSED, "node", text)))


def _otherwise(parts: CaseParts) -> tuple[Note, ...]:
    """What the cluster tells of the same node, and differently."""
    from numafit.cluster.topology.compare import kubelet_disagreements, machine_disagreements
    from numafit.cluster.topology.restore import release_of
    from numafit.machine.read.recognise import source_of

    topology = parts.published
    if topology is None:
        return ()
    notes: tuple[Note, ...] = ()
    try:
        if parts.machine is not None:
            notes += machine_disagreements(topology, source_of(read_bytes(parts.machine), str(parts.machine)))
        if parts.kubelet is not None:
            file = ConfigFile(str(parts.kubelet), read_text(parts.kubelet))
            known = start(Start(version=release_of(topology), sources=ConfigSources(file)), "config")
            notes += tuple(kubelet_disagreements(topology, known.config))
    except (InputError, StartError) as error:
        notes += (Note(UNUSED, "node", f"what else the cluster tells of it cannot be compared: {error}"),)
    return notes


def with_named_to_come(stage: Stage, running: Sequence[Pod], name: str) -> Stage:
    """A pod that is asked for and sits there already comes once more, to the others as they sit."""
    for pod in running:
        if name in (pod.name, pod.full_name) and pod.uid in stage.ledger.active:
            note = Note(REPLAYED, pod.full_name, "runs, and is played again as if it came now, after all others")
            pods = (*stage.pods[: stage.running], pod, *stage.pods[stage.running :])
            ledger = freed(stage.node, stage.ledger, pod.uid)
            stage = replace(stage, ledger=ledger, pods=pods, running=stage.running + 1, notes=(*stage.notes, note))
    return stage


def published_stage(options: NodeOptions, topology: "NodeTopology", node: "NodeObject | None") -> Stage:
    """With those on it of whom the agent tells."""
    from numafit.cluster.topology.restore import machine_of, stage_of

    facts = options.facts(node, machine_of(topology))
    stage = stage_of(topology, facts=facts)
    notes = (*stage.notes, *options.notes)
    if node is not None:
        from numafit.settings.node_object import node_disagreements

        own = {name: amount for name, amount in stage.allocatable.items() if name not in facts.offers}
        notes += node_disagreements(node, stage.node.machine, own, stage.node.settings.version)
    return replace(stage, notes=notes)
