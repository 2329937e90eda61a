"""What is told of a rejected pod, in sentences: why its kubelet did not take it in, and what happens next."""

from datetime import datetime

from msgspec.structs import replace

from numafit.cluster.guard.patience import LONGEST_PATIENCE, REJECTIONS, patience, tried_at
from numafit.cluster.guard.record import LoopRecord
from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.live.words import OUR_GATES
from numafit.cluster.place.candidates import PlacedCluster
from numafit.decision.story.story import decision_sentence
from numafit.decision.story.terms import upper
from numafit.errors import some_of
from numafit.fleet.fleet import Fleet
from numafit.fleet.verdicts import tried
from numafit.fleet.waiting.why import WhyMemory, why_waiting
from numafit.fleet.waiting.words import nodes_text, waiting_sentence

MOST_NODES = 3
MOST_FORGIVEN = 100

PLAIN = {
    "TopologyAffinityError": "its topology policy wants all of it on fewer NUMA nodes than have room for it",
    "SMTAlignmentError": "it takes whole cores only, and the pod asks for a part of one",
    "UnexpectedAdmissionError": "it could not give the pod what it asks for",
    "EmptyPodSharedPoolError": "no CPU would be left for its containers that share them",
}
"""Where no report tells how the node stands: the kubelet's reason in plain words."""


def plain_story(pod: ClusterPod) -> str:
    """What the kubelet says, in plain words."""
    begin = f"the kubelet of {pod.node or 'its node'} did not take the pod in ({pod.reason})"
    plain = PLAIN.get(pod.reason, "the node has not enough left")
    said = pod.message.strip().rstrip(".")
    return f"{begin}: {plain}. It says: {said}." if said else f"{begin}: {plain}."


def rejection_story(pod: ClusterPod, live: PlacedCluster, kept: WhyMemory, unknown: int) -> str:
    """Why there, and what of the other nodes, of which so many could be tried and have not reported."""
    return f"{_why(pod, live)}{_elsewhere(pod, live, kept, unknown)}"


def _why(pod: ClusterPod, live: PlacedCluster) -> str:
    """From the engine where the node's report is known and it decides as the kubelet did."""
    node = live.fleet.nodes.get(pod.node)
    if node is not None:
        decision, _ = tried(node.state, pod.pod)
        if not decision.admitted and not decision.panic:
            why = decision_sentence(node.state.node, decision).rstrip(".")
            return f"the kubelet of {pod.node} did not take the pod in ({pod.reason}): {why}."
    return plain_story(pod)


def _elsewhere(pod: ClusterPod, live: PlacedCluster, kept: WhyMemory, unknown: int) -> str:
    """Where a pod like it could go now, or what would have to happen; empty where no node tells how it stands."""
    if not live.fleet.nodes:
        return ""
    # A pod that comes after it has another name, and none of its promises.
    new = replace(pod.pod, uid="")
    why = why_waiting(_forgiving(live.fleet), new, live.memory, kept, unknown=unknown)
    return f" {upper(nodes_text(why.fitting))} would take it now." if why.fitting else f" {waiting_sentence(why)}"


def _forgiving(fleet: Fleet) -> Fleet:
    """Without what nodes refused lately: it was refused for a reason, which is what is to be told."""
    for name in sorted(fleet.refusing)[:MOST_FORGIVEN]:
        node = fleet.nodes[name]
        fleet = fleet.removed(name).reported(name, node.state, node.facts, schedulable=node.schedulable)
    return fleet


def hold_story(record: LoopRecord, *, enforced: bool) -> str:
    """Of an owner whose pods are held from now on."""
    nodes = some_of(list(dict.fromkeys(own.node for own in record.rejections if own.node)), MOST_NODES)
    made = f"{record.rejected} pods of it were rejected, the last {REJECTIONS} within a minute"
    where = f" (on {nodes})" if nodes else ""
    are = "its next pods are held" if enforced else "its next pods would be held (dry run)"
    wait = int(patience(record.tries).total_seconds())
    longest = int(LONGEST_PATIENCE.total_seconds()) // 60
    tried = f"one is tried after {wait} s all the same, or after {longest} minutes where all nodes are known"
    return f"{made}{where}: {are} until a node can take one; {tried}."


def held_story(
    pod: ClusterPod, record: LoopRecord, live: PlacedCluster, kept: WhyMemory, unknown: int, *, hopeless: bool
) -> str:
    """Of a pod that waits: why, for what, and until when. `hopeless`: each node is known, and none can take it."""
    why = f"{record.rejected} pods of {record.kind} {record.name} were rejected, so its next ones wait"
    others = [gate for gate in pod.gates if gate not in OUR_GATES]
    if others:
        return f"{why}; this one also for others ({some_of(others, MOST_NODES)})."
    at = tried_at(record, hopeless=hopeless)
    until = f"one is tried at {at.strftime('%Y-%m-%dT%H:%M:%SZ')}" if at is not None else "one is tried at times"
    if record.mistrusted:
        return f"{why}: {until}."
    return f"{why} until a node can take one; {until} all the same.{_elsewhere(pod, live, kept, unknown)}"


def try_story(why: str, nodes: tuple[str, ...], record: LoopRecord | None, *, enforced: bool) -> str:
    """Of a pod that is let go."""
    where = f", on {some_of(list(nodes), MOST_NODES)}" if nodes else ""
    tries = f"; {record.tries} before it came to grief" if record is not None and record.tries else ""
    return f"{'released' if enforced else 'would be released (dry run)'}: {why}{where}{tries}."


def annotation_text(why: str, now: datetime) -> str:
    return f"{now.strftime('%Y-%m-%dT%H:%M:%SZ')} {why}"
