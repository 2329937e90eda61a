"""What is counted of one rule."""

from collections.abc import Mapping

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
    """How the fleet stood before a pod arrived."""

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
    """Seconds from arrival to admission; of those that never came, to the end, or until they were given up."""
    late_wait: float
    """Of 100 pods 99 wait no longer."""
    longest_wait: float
    limit: float = LIMIT
    """Seconds that a pod may wait."""
    overdue: int = 0
    """Waited longer than that, or had no node at the end."""
    unplaced: int
    """Without a node at the end."""
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
