"""What an event of a run changed besides its decisions."""

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import asdict

from numafit.decision.effects import EventTold, effect_in_words


class EffectRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Of which kind it is tells which of the last keys are there."""

    kind: str
    pod: str
    text: str
    """In words, without the pod."""
    container: str | UnsetType = UNSET
    reason: str | UnsetType = UNSET
    """Of a pod that ran and lost its place."""
    resource: str | UnsetType = UNSET
    devices: tuple[str, ...] | UnsetType = UNSET
    resources: tuple[str, ...] | UnsetType = UNSET
    """Of which too few devices are free for a container that cannot be started."""
    healthy: tuple[int, ...] | UnsetType = UNSET
    """How many devices of each of these are healthy."""
    free: tuple[int, ...] | UnsetType = UNSET
    """How many of the healthy ones nobody holds."""
    down: bool | UnsetType = UNSET
    """It waits for the kubelet, which is down."""
    resize: bool | UnsetType = UNSET
    """It is the resize that waits for the kubelet."""
    more: int | UnsetType = UNSET
    """Bytes of memory that its init containers hold now and did not before."""


def effect_records(told: EventTold) -> tuple[EffectRecord, ...]:
    found = []
    for effect in told.effects:
        said = {key: value for key, value in asdict(effect).items() if value not in ((), False)}
        found.append(EffectRecord(kind=str(effect.__struct_config__.tag), text=effect_in_words(effect), **said))
    return tuple(found)
