"""Why not, for a scheduler: it counts nodes by equal texts and cuts an event at 1,024 characters, so there are few of
them, without a node's name and without numbers that differ from node to node."""

from collections.abc import Mapping, Sequence

from numafit.decision.filters import NODE_AFFINITY, NODE_PORTS, TAINT_TOLERATION
from numafit.fleet.orders import PROMISED
from numafit.fleet.places import REFUSED, UNSCHEDULABLE, PlaceRefusal
from numafit.fleet.verdicts import CRASH, NOT_OFFERED
from numafit.managers.protocol import EMPTY_SHARED_POOL, SMT_ALIGNMENT, TOPOLOGY_AFFINITY, UNEXPECTED

MOST_TEXTS = 8
OTHERWISE = "kubelet would reject the pod"
"""For the rarest reasons where there are too many."""
TEXTS = {
    TOPOLOGY_AFFINITY: f"{OTHERWISE}: its CPUs, memory and devices cannot be aligned ({TOPOLOGY_AFFINITY})",
    SMT_ALIGNMENT: f"{OTHERWISE}: it does not ask for whole cores ({SMT_ALIGNMENT})",
    UNEXPECTED: f"{OTHERWISE}: too few CPUs, memory or devices are left for it alone ({UNEXPECTED})",
    EMPTY_SHARED_POOL: f"{OTHERWISE}: no CPUs are left for its containers ({EMPTY_SHARED_POOL})",
    CRASH: "kubelet would crash over the pod",
    PROMISED: "other pods are promised to it, and not decided yet",
    REFUSED: "kubelet rejected such a pod, and nothing has changed there since",
    UNSCHEDULABLE: "cordoned",
    TAINT_TOLERATION: "has a taint that the pod does not tolerate",
    NODE_AFFINITY: "has other labels than the pod wants",
    NODE_PORTS: "a port of the host is taken",
    NOT_OFFERED: "offers no such resource",
}


def text_of(reason: str) -> str:
    """Beside those above there is OutOf and a resource."""
    return TEXTS.get(reason) or f"{OTHERWISE}: {reason}"


def refused_texts(refusals: Mapping[PlaceRefusal, Sequence[str]]) -> dict[str, str]:
    """Node -> text."""
    names: dict[str, list[str]] = {}
    for refusal, own in refusals.items():
        names.setdefault(text_of(refusal.reason), []).extend(own)
    by_number = sorted(names, key=lambda text: (-len(names[text]), text))
    told = set(by_number if len(by_number) <= MOST_TEXTS else by_number[: MOST_TEXTS - 1])
    return {name: text if text in told else OTHERWISE for text, own in names.items() for name in own}
