"""How other outcomes read, where the kubelet leaves a decision to chance."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from numafit.decision.decision import Decision
from numafit.decision.doubt.other import Dependence, Extent, Other, Others
from numafit.decision.simulation import Simulation
from numafit.show.table import PLAIN, Screen, aligned
from numafit.show.text.simulation import decision_text, labels_of

_ENDS: dict[Extent, str] = {
    "all": "these are all",
    "more": "there are more",
    "not searched": "there may be more: not all orders were tried",
}
MOST_NAMED = 12
"""Of pods, in an order that is told."""


def outcomes_table(simulation: Simulation, found: Mapping[int, Others], screen: Screen = PLAIN) -> str:
    """`found` by the number of the step. What comes of a whole restart is told together."""
    labels = labels_of(simulation)
    rows: list[Sequence[str]] = [("POD", "COULD ALSO BE", "IF")]
    for number, others in found.items():
        step = simulation.steps[number]
        first = f"({step.event})" if others.steps else step.decision.pod.full_name
        for other in others.found:
            why = depends_in_words(other.depends, labels)
            for text in _decisions(other, labels, named=bool(others.steps)):
                rows.append((first, text, why))
                first = why = ""
        rows.append((first, f"({_ENDS[others.extent]})", ""))
    return aligned(rows, screen=screen) if len(rows) > 1 else "No decision of this run was left to chance."


def _decisions(other: Other, labels: Mapping[str, str], *, named: bool) -> list[str]:
    return [
        f"{decision.pod.full_name if named else ''} {decision_text(_labelled(decision, labels))}".strip()
        for decision in other.decisions
    ]


def depends_in_words(depends: Sequence[Dependence], labels: Mapping[str, str]) -> str:
    return ", and ".join(_words(own, labels) for own in depends)


def _words(own: Dependence, labels: Mapping[str, str]) -> str:
    match own.draw.kind:
        case "pods":
            return _order(own, "is admitted", "static pods are admitted")
        case "resources":
            return _order(own, "is served", "resources are served")
        case "stale":
            return _order(own, "is released", "what nobody needs is released")
        case "nodes":
            return f"NUMA nodes are looked at in the order {', '.join(own.taken)}"
        case "cpus":
            return f"CPUs {own.taken[0]} are taken instead of {own.instead[0]}"
        case "victim":
            return f"{own.taken[0]} is evicted instead of {own.instead[0]}"
        case _:
            taken = [labels.get(device, device) for device in own.taken if device not in own.instead]
            instead = [labels.get(device, device) for device in own.instead if device not in own.taken]
            return f"{_listed(taken)} {'is' if len(taken) == 1 else 'are'} taken instead of {_listed(instead)}"


def _listed(names: Sequence[str]) -> str:
    return ", ".join(sorted(names))


def _order(own: Dependence, does: str, all_do: str) -> str:
    """One that comes earlier or later than shown is told by its neighbour; else all that come otherwise, in order."""
    taken, instead = list(own.taken), list(own.instead)
    for number, name in enumerate(taken):
        if [other for other in taken if other != name] == [other for other in instead if other != name]:
            if number < instead.index(name):
                return f"{name} {does} before {taken[number + 1]}"
            return f"{name} {does} after {taken[number - 1]}"
    place = {name: number for number, name in enumerate(instead)}
    moved = [
        name
        for number, name in enumerate(taken)
        if any((i < number) != (place[other] < place[name]) for i, other in enumerate(taken) if other != name)
    ]
    more = f" and {len(moved) - MOST_NAMED} more" if len(moved) > MOST_NAMED else ""
    return f"{all_do} in the order {', '.join(moved[:MOST_NAMED])}{more}"


def _labelled(decision: Decision, labels: Mapping[str, str]) -> Decision:
    containers = {
        name: replace(
            placement,
            devices={
                resource: {labels.get(device, device): nodes for device, nodes in own.items()}
                for resource, own in placement.devices.items()
            },
        )
        for name, placement in decision.containers.items()
    }
    return replace(decision, containers=containers)
