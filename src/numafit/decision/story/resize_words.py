"""The words for resizes in place."""

from numafit.decision.decision import ResizeRefused
from numafit.decision.story.claims import ResizeAllocated
from numafit.decision.story.terms import amount_in_words, listed

PUT_OFF = "The pod runs on as it was, and the resize is tried again when something frees."

_SENTENCES = {
    "no-resize": "No running pod gets other resources here{gate}.",
    "static-pod": "The pod is static: it is changed by its file, which makes it another pod.",
    "qos": "The pod is {was} and would become {would}; a resize may not change that.",
    "above-limit": "Container {container} would ask for more {resource} than its limit.",
    "memory-limit": "The memory limit of container {container} would be lower than now, and this release refuses that "
    "unless the container is restarted for it.",
    "other-resource": "Only cpu and memory can be changed, not {resource} of container {container}.",
    "init-container": "Container {container} is an init container, whose resources cannot be changed.",
    "pod-level": "The pod has resources as a whole (spec.resources), and this release resizes no such pod.",
    "node-too-small": "The node has {capacity} for pods altogether, and the pod would ask for {asked}.",
    "static-cpu": "The pod is Guaranteed, and under the static CPU policy the CPUs of such pods cannot be changed.",
    "static-memory": "The pod is Guaranteed, and under the Static memory policy the memory of such pods cannot be "
    "changed.",
}
RESIZE_CODES = frozenset(_SENTENCES)


def allocated_in_words(cause: ResizeAllocated) -> str:
    amounts = listed([amount_in_words(name, amount, milli=True) for name, amount in cause.asks.items()], "and")
    if cause.reverted:
        return f"The pod has {amounts} already, and so what was asked for before is given up."
    if not amounts:
        return "Allocated: the pod asks for neither CPUs nor memory as a whole."
    held = f" Its {cause.held} exclusive CPUs stay as they are." if cause.held else ""
    return f"Allocated: from now on the pod counts with {amounts}.{held}"


def no_resize_in_words(cause: ResizeRefused) -> str:
    facts = dict(cause.facts)
    if "gate" in facts:
        facts["gate"] = f", because {facts['gate']} is off" if facts["gate"] else ": this release cannot do it"
    resource = str(facts.get("resource", ""))
    for name in ("asked", "capacity"):
        if name in facts:
            facts[name] = amount_in_words(resource, int(facts[name]), milli=True)
    return _SENTENCES[cause.code].format_map(facts)
