"""What is counted of one rule."""

import msgspec


class LargeLeft(msgspec.Struct, frozen=True, rename="camel"):
    """Of one large shape, at the moments that were looked at."""

    name: str
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


class RuleOutcome(msgspec.Struct, frozen=True, rename="camel"):
    rule: str
    pods: int
    """All but those that fit no empty node."""
    at_once: int
    """Had a node, and were admitted, when they arrived."""
    rejections: int
    """By kubelets; a pod that is rejected again counts again."""
    rejected_pods: int
    mean_wait: float
    """Seconds from arrival to admission; of those that never came, to the end."""
    late_wait: float
    """Of 100 pods 95 wait no longer."""
    longest_wait: float
    unplaced: int
    """Still without a node at the end."""
    used_cpus: float
    """Parts of what the fleet offers that are asked for; mean over the moments that were looked at, as all below."""
    used_devices: float
    stranded_cpus: float
    """CPUs that are free and cannot be used with the rest."""
    stranded_gpus: float
    large: tuple[LargeLeft, ...]
    sizes: tuple[SizeOutcome, ...]
    """By devices."""
