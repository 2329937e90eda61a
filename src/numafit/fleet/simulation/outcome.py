"""What is counted of one rule."""

from collections.abc import Iterable, Iterator, Mapping, Sequence

import msgspec

LIMIT = 60.0
"""Seconds that a pod may wait where nobody says otherwise."""


class LargeShape(msgspec.Struct, frozen=True):
    """A large pod that is watched."""

    name: str
    requests: Mapping[str, str]


class LargeLeft(msgspec.Struct, frozen=True, rename="camel"):
    """Of one large shape, at the moments that were looked at."""

    shape: LargeShape
    mean: float
    """How many of them could still come."""
    least: int
    none: float
    """The part of the moments at which none could."""


class SizeOutcome(msgspec.Struct, frozen=True, rename="camel"):
    """Pods that ask for as many devices."""

    devices: int
    pods: int
    at_once: int
    mean_wait: float


class Alignment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Containers that were given something for themselves, and how near to each other it is."""

    cpus: int
    """With exclusive CPUs."""
    cpus_together: int
    """Of these: all on one NUMA node."""
    memory: int
    """With exclusive CPUs and memory of certain NUMA nodes."""
    memory_near: int
    """Of these: no memory elsewhere than at their CPUs."""
    devices: int
    """With exclusive CPUs and devices of which a NUMA node is known."""
    devices_near: int
    """Of these: each device is at some of their CPUs."""
    device_distance: float | None = None
    """Mean of the distance from the CPUs to the devices, as the machine tells it: 10 is the same NUMA node."""
    gpu_sets: int = 0
    """With several GPUs of a machine that says how they are linked, or where they sit."""
    link_quality: float | None = None
    """Mean of the sum of their pair scores by that of the best set of as many GPUs of the machine: 1 is the best."""


class FleetMoment(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """How the fleet stood, with all that happened at that moment."""

    at: float
    """Seconds since the first arrival."""
    waiting: int
    """Pods that have come and have no node; those that were given up are not among them."""
    rejections: int
    """By kubelets until then."""
    used_cpus: float
    """Parts of what the fleet offers that are asked for."""
    used_devices: float
    stranded_cpus: int
    stranded_memory: int
    """In bytes."""
    stranded_gpus: int
    largest: int
    """The most CPUs that are free on one NUMA node."""
    largest_gpus: int = 0
    """The most GPUs that are free on one NUMA node, each with its share of the CPUs there."""
    large: tuple[int, ...] = ()
    """How many pods of each large shape could still come."""


class RuleOutcome(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    rule: str
    policy: str = ""
    """Of the Topology Manager of all nodes; empty: as each has it."""
    pods: int
    """All but those that fit no empty node."""
    impossible: int = 0
    """These others."""
    at_once: int
    """Had a node, and were admitted, when they arrived."""
    rejections: int
    """By kubelets; a pod that is rejected again counts again."""
    recreations: int
    """Pods that controllers made again after that."""
    rejected_pods: int
    mean_wait: float
    """Seconds from arrival to admission; of those that never came, until they were given up, or nothing ended any more
    by which they could come."""
    late_wait: float
    """Of 100 pods 99 wait no longer."""
    longest_wait: float
    limit: float = LIMIT
    """Seconds that a pod may wait."""
    overdue: int = 0
    """Waited longer than that, or never had a node."""
    left_waiting: int = 0
    """Had no node when the last pod came; most of them come to one after that."""
    unplaced: int
    """Never had a node, as long as something ended after the last pod came, too."""
    given_up: int
    """Of these: pods that no controller makes again after a rejection, as of a Job that has failed."""
    used_cpus: float
    """Parts of what the fleet offers that are asked for; mean over the moments that were looked at, as all below."""
    used_devices: float
    stranded_cpus: float
    """CPUs that are free and cannot be used with the rest."""
    stranded_memory: float
    """The same of memory that a memory manager gives away, in bytes."""
    stranded_gpus: float
    largest: float = 0.0
    """The largest aligned shape that still fits: the most CPUs that are free on one NUMA node."""
    largest_gpus: float = 0.0
    """The most GPUs that are free on one NUMA node, each with its share of the CPUs there."""
    large: tuple[LargeLeft, ...]
    sizes: tuple[SizeOutcome, ...]
    """By devices."""
    alignment: Alignment
    moments: tuple[FleetMoment, ...] = ()


def sizes_of(pods: Iterable[tuple[int, bool, float]]) -> Iterator[SizeOutcome]:
    """`pods`: (devices, at once, wait) of each."""
    found: dict[int, list[tuple[bool, float]]] = {}
    for devices, at_once, wait in pods:
        found.setdefault(devices, []).append((at_once, wait))
    for devices, own in sorted(found.items()):
        yield SizeOutcome(devices, len(own), sum(at_once for at_once, _ in own), mean_of([wait for _, wait in own]))


def mean_of(values: Sequence[float]) -> float:
    """0 of none."""
    return sum(values) / len(values) if values else 0.0


def late_of(waits: Sequence[float]) -> float:
    """Of 100 pods 99 wait no longer; 0 of none."""
    ordered = sorted(waits)
    # So many of them, rounded up, in whole numbers: 99 of 100, and not the hundredth.
    return ordered[-(-99 * len(ordered) // 100) - 1] if ordered else 0.0
