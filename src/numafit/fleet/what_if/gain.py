"""One run against another: what is better and what is worse, and which change gains most.

By `overdue` and `never` all pods of the trace count alike in both: one that fits no empty node has no node, as one that
never found one, so that a policy that turns pods away for good gains nothing. By the other aims it may gain by that:
whoever is turned away does not wait, is not rejected and strands nothing.
"""

from collections.abc import Iterable
from typing import Literal

import msgspec

from numafit.fleet.simulation.outcome import Alignment, RuleOutcome

Aim = Literal["overdue", "never", "rejected", "wait", "aligned", "stranded-gpus", "stranded-cpus"]
AIMS: tuple[Aim, ...] = ("overdue", "never", "rejected", "wait", "aligned", "stranded-gpus", "stranded-cpus")
WORTH_TELLING = 0.005
"""A share of aligned containers that falls by less is not called a loss."""


class FleetGain(msgspec.Struct, frozen=True, rename="camel", kw_only=True):
    """What there is less of that nobody wants, and more of what is wanted: above 0 is better."""

    overdue: int
    """Pods that waited longer than the limit, or have no node."""
    never: int
    """Pods without a node at the end, those that fit no empty node included."""
    rejections: int
    recreations: int
    rejected_pods: int
    mean_wait: float
    """Seconds."""
    late_wait: float
    aligned: float | None
    """Of all that was given and could be aligned the part that is: CPUs on one NUMA node, memory and devices at them;
    from 0 to 1. Where nothing of the kind is given at all, none of it is aligned; None where that is so in both. So
    the next three, each by itself."""
    cpus_together: float | None
    memory_near: float | None
    devices_near: float | None
    with_cpus: int
    """Containers with exclusive CPUs, as many more as there are; so the next two, with memory and devices at them."""
    with_memory: int
    with_devices: int
    stranded_cpus: float
    stranded_memory: float
    stranded_gpus: float

    @property
    def losses(self) -> tuple[str, ...]:
        """Which kinds of alignment it costs."""
        parts = {"CPUs": self.cpus_together, "memory": self.memory_near, "devices": self.devices_near}
        return tuple(name for name, own in parts.items() if own is not None and own <= -WORTH_TELLING)

    @property
    def costs(self) -> bool:
        """It costs alignment, or pods that have no node, or that kubelets reject."""
        return bool(self.losses) or self.never < 0 or self.rejected_pods < 0


def overdue_of(outcome: RuleOutcome) -> int:
    return outcome.overdue + outcome.impossible


def never_of(outcome: RuleOutcome) -> int:
    return outcome.unplaced + outcome.impossible


def gain_of(before: RuleOutcome, after: RuleOutcome) -> FleetGain:
    old, new = before.alignment, after.alignment
    return FleetGain(
        overdue=overdue_of(before) - overdue_of(after),
        never=never_of(before) - never_of(after),
        rejections=before.rejections - after.rejections,
        recreations=before.recreations - after.recreations,
        rejected_pods=before.rejected_pods - after.rejected_pods,
        mean_wait=before.mean_wait - after.mean_wait,
        late_wait=before.late_wait - after.late_wait,
        aligned=_more(*_aligned(old), *_aligned(new)),
        cpus_together=_more(old.cpus_together, old.cpus, new.cpus_together, new.cpus),
        memory_near=_more(old.memory_near, old.memory, new.memory_near, new.memory),
        devices_near=_more(old.devices_near, old.devices, new.devices_near, new.devices),
        with_cpus=new.cpus - old.cpus,
        with_memory=new.memory - old.memory,
        with_devices=new.devices - old.devices,
        stranded_cpus=before.stranded_cpus - after.stranded_cpus,
        stranded_memory=before.stranded_memory - after.stranded_memory,
        stranded_gpus=before.stranded_gpus - after.stranded_gpus,
    )


def _aligned(found: Alignment) -> tuple[int, int]:
    near = found.cpus_together + found.memory_near + found.devices_near
    return near, found.cpus + found.memory + found.devices


def _more(old: int, of_old: int, new: int, of_new: int) -> float | None:
    return _part(new, of_new) - _part(old, of_old) if of_old or of_new else None


def _part(some: int, of_all: int) -> float:
    return some / of_all if of_all else 0.0


class ChangeOutcome(msgspec.Struct, frozen=True):
    change: str
    gain: FleetGain
    outcome: RuleOutcome

    @property
    def idle(self) -> bool:
        """It makes no difference at all."""
        return not any(msgspec.structs.astuple(self.gain))


def ranked(changes: Iterable[ChangeOutcome], aim: Aim) -> tuple[ChangeOutcome, ...]:
    """The one that gains most by the aim first; among equals by all other aims in their order, then by name."""
    aims = (aim, *(own for own in AIMS if own != aim))
    return tuple(sorted(changes, key=lambda own: (*(-gained(own, each) for each in aims), own.change)))


def gained(own: ChangeOutcome, aim: Aim) -> float:
    gain = own.gain
    amounts: dict[Aim, float] = {
        "overdue": gain.overdue,
        "never": gain.never,
        "rejected": gain.rejected_pods,
        "wait": gain.mean_wait,
        "aligned": gain.aligned or 0.0,
        "stranded-gpus": gain.stranded_gpus,
        "stranded-cpus": gain.stranded_cpus,
    }
    return amounts[aim]
