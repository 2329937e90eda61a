"""What can be seen of a decision from outside: the verdict, and for an admitted pod what each container holds."""

from numafit.decision.decision import Decision
from numafit.machine.bits import cpuset_text, mask_of
from numafit.quantity import Quantity


def facts_of(decision: Decision | None) -> dict[str, str]:
    """Name -> text; `verdict` is always there. None: the kubelet had crashed before."""
    if decision is None:
        return {"verdict": "not decided"}
    if decision.panic:
        return {"verdict": "crash", "message": decision.panic}
    if not decision.admitted:
        return {"verdict": decision.reason, "message": decision.message}
    facts = {"verdict": "admitted", "qos": decision.qos}
    for name, placement in decision.containers.items():
        facts[f"{name} cpus"] = "shared" if placement.cpus is None else cpuset_text(placement.cpus) or "none"
        blocks = [
            f"{Quantity(block.size, 0, 'BinarySI')} {block.type}@{cpuset_text(mask_of(block.numa))}"
            for block in placement.memory or ()
        ]
        facts[f"{name} memory"] = ", ".join(blocks) or "any"
        for resource, devices in sorted(placement.devices.items()):
            facts[f"{name} {resource}"] = ", ".join(sorted(devices))
    return facts
