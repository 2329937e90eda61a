"""A decision in one line: the verdict, and what the pod holds where."""

from numafit.decision.decision import Decision, Placement
from numafit.ledger.memory_values import Block
from numafit.machine.bits import cpuset_text, mask_of
from numafit.quantity import Quantity


def decision_text(decision: Decision) -> str:
    """`admitted: CPUs 1-2,9-10, 4Gi@0, GPU-0`, or the reason of a rejection."""
    if decision.panic:
        return "crash of the kubelet"
    if not decision.admitted:
        return f"rejected, {decision.reason}"
    parts = {name: placement_text(placement) for name, placement in decision.containers.items()}
    if len(parts) == 1:
        return f"admitted: {next(iter(parts.values()))}"
    return "admitted: " + "; ".join(f"{name}: {text}" for name, text in parts.items())


def placement_text(placement: Placement) -> str:
    cpus = "shared CPUs" if placement.cpus is None else _cpus_text(placement.cpus)
    return ", ".join(text for text in (cpus, memory_text(placement.memory or ()), devices_text(placement)) if text)


def _cpus_text(cpus: int) -> str:
    return f"CPUs {cpuset_text(cpus)}" if cpus else "no CPUs"


def memory_text(blocks: tuple[Block, ...]) -> str:
    return ", ".join(
        f"{Quantity(block.size, 0, 'BinarySI')}@{cpuset_text(mask_of(block.numa))}"
        + ("" if block.type == "memory" else f" {block.type}")
        for block in blocks
    )


def devices_text(placement: Placement) -> str:
    return ", ".join(sorted(device for own in placement.devices.values() for device in own))
