"""Names of ours that stand in objects of the cluster: people search for them, so each is written here only."""

PLACE_GATE = "numafit.io/place"
"""Scheduling gate of a pod whose nodes are still to be chosen."""
HOLD_GATE = "numafit.io/hold"
"""Scheduling gate of a pod whose owner's pods were rejected again and again."""
OUR_GATES = (PLACE_GATE, HOLD_GATE)

NODES_ANNOTATION = "numafit.io/nodes"
"""On a pod: the nodes that it was offered, written together with the removal of the gate."""
MOST_OFFERED = 64
"""Nodes that are named there at most."""

HELD_ANNOTATION = "numafit.io/held"
"""On a pod: who put the gate of the guard there, and where it is told why."""

SCALED_ANNOTATION = "numafit.io/scaled"
"""On a pod that was released for nodes that are still to come: how many nodes it must not go to."""
SCALE_ANNOTATION = "numafit.io/scale"
"""By whoever makes a pod: "false" keeps it from being released for nodes to come."""

PLACE_LABEL, GUARD_LABEL = "numafit.io/place", "numafit.io/guard"
"""On a namespace: whether its pods are placed, and whether its loops are held."""
ENABLED, DISABLED = "enabled", "disabled"

PLACED = "numafit.io/Placed"
"""Condition of a pod: why it waits, or that it was released."""
WAITING, HELD, RELEASED, FITS = "Waiting", "Held", "Released", "Fits"
"""Its reasons: the placer says the first, the guard the second; the last one wakes a scheduler."""

PLACER, GUARD = "numafit-place", "numafit-guard"
"""Who tells an event or writes a field."""


def offered_names(text: str) -> tuple[str, ...]:
    """Of the annotation, in its order. None of one that names more than any of us does: it is of somebody else."""
    names = text.split(",", MOST_OFFERED)
    return tuple(dict.fromkeys(name for name in names if name)) if len(names) <= MOST_OFFERED else ()


def held_text(namespace: str) -> str:
    """Of the annotation: where the guard remembers why."""
    return f"by numafit guard: ConfigMap {namespace}/{GUARD}"
