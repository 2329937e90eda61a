"""What is told of a rejected pod, in sentences: why its kubelet did not take it in, and what happens next."""

from datetime import datetime

from numafit.cluster.guard.record import LoopRecord
from numafit.cluster.guard.rules import REJECTIONS, patience
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.pods import ClusterPod
from numafit.decision.story.story import decision_sentence
from numafit.errors import some_of
from numafit.fleet.verdicts import tried

MOST_NODES = 3

PLAIN = {
    "TopologyAffinityError": "its topology policy wants all of it on fewer NUMA nodes than have room for it",
    "SMTAlignmentError": "it takes whole cores only, and the pod asks for a part of one",
    "UnexpectedAdmissionError": "it could not give the pod what it asks for",
    "EmptyPodSharedPoolError": "no CPU would be left for its containers that share them",
}
"""Where no report tells how the node stands: the kubelet's reason in plain words."""


def rejection_story(pod: ClusterPod, live: LiveFleet) -> str:
    """One or two sentences. From the engine where the node's report is known and it decides as the kubelet did."""
    begin = f"the kubelet of {pod.node or 'its node'} did not take the pod in ({pod.reason})"
    node = live.fleet.nodes.get(pod.node)
    if node is not None:
        decision, _ = tried(node.state, pod.pod)
        if not decision.admitted and not decision.panic:
            return f"{begin}: {decision_sentence(node.state.node, decision).rstrip('.')}."
    plain = PLAIN.get(pod.reason, "the node has not enough left")
    said = pod.message.strip().rstrip(".")
    return f"{begin}: {plain}. It says: {said}." if said else f"{begin}: {plain}."


def hold_story(record: LoopRecord, *, enforced: bool) -> str:
    """Of an owner whose pods are held from now on."""
    nodes = some_of(list(dict.fromkeys(own.node for own in record.rejections if own.node)), MOST_NODES)
    made = f"{record.rejected} pods of it were rejected, the last {REJECTIONS} within a minute"
    where = f" (on {nodes})" if nodes else ""
    are = "its next pods are held" if enforced else "its next pods would be held (dry run)"
    wait = int(patience(record.tries).total_seconds())
    return f"{made}{where}: {are} until a node can take one, or else for {wait} s at first."


def try_story(why: str, nodes: tuple[str, ...], record: LoopRecord | None, *, enforced: bool) -> str:
    """Of a pod that is let go."""
    where = f", on {some_of(list(nodes), MOST_NODES)}" if nodes else ""
    tries = f"; {record.tries} before it came to grief" if record is not None and record.tries else ""
    return f"{'released' if enforced else 'would be released (dry run)'}: {why}{where}{tries}."


def annotation_text(why: str, now: datetime) -> str:
    return f"{now.strftime('%Y-%m-%dT%H:%M:%SZ')} {why}"
