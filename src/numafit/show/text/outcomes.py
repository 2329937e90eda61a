"""How other outcomes read, where the kubelet leaves a decision to chance."""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from numafit.decision.decision import Decision
from numafit.decision.doubt.chance import Extent, Others
from numafit.decision.simulation import Simulation
from numafit.show.table import PLAIN, Screen, aligned
from numafit.show.text.simulation import decision_text

_ENDS: dict[Extent, str] = {
    "all": "these are all",
    "more": "there are more",
    "not searched": "there may be more: not all orders were tried",
}


def outcomes_table(simulation: Simulation, found: Mapping[int, Others], screen: Screen = PLAIN) -> str:
    """`found` by the number of the step."""
    labels = {device.id: device.label for device in simulation.node.machine.devices if device.label}
    rows: list[Sequence[str]] = [("POD", "COULD ALSO BE")]
    for number, others in found.items():
        texts = [decision_text(_labelled(decision, labels)) for decision in others.decisions]
        first = simulation.steps[number].decision.pod.full_name
        for text in (*texts, f"({_ENDS[others.extent]})"):
            rows.append((first, text))
            first = ""
    return aligned(rows, screen=screen) if len(rows) > 1 else "No decision of this run was left to chance."


def _labelled(decision: Decision, labels: Mapping[str, str]) -> Decision:
    """A UUID says nothing to a reader; the number that the vendor's tools give a GPU does."""
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
