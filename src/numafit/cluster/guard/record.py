"""What is remembered of an owner whose pods kubelets do not take in: a value, and a text of a ConfigMap.

The text begins with a word: new pods of an owner whose text begins with `hold` are gated by the policy, which can look
at no more than that.
"""

from datetime import UTC, datetime

import msgspec

from numafit.cluster.live.pods import PodController

HOLD, COUNT = "hold", "count"
MOST_REJECTIONS = 4
"""The newest ones of an owner; the others are counted."""


class PodRejection(msgspec.Struct, frozen=True):
    pod: str
    """Its UID."""
    node: str
    reason: str
    at: datetime
    """When we heard of it."""


class LoopRecord(msgspec.Struct, frozen=True, omit_defaults=True):
    kind: str
    name: str
    namespace: str
    apiVersion: str = "v1"
    rejections: tuple[PodRejection, ...] = ()
    rejected: int = 0
    """All, the forgotten ones with them."""
    held: datetime | None = None
    """Since when its pods wait; None: its rejections are counted only."""
    last: datetime | None = None
    """When the hold began, a pod was let go, or one that was let go came to grief: patience counts from here."""
    tries: int = 0
    """Pods that were let go and came to grief."""
    released: tuple[str, ...] = ()
    """UIDs of pods that were let go, of which nothing was heard yet."""
    foreseen: tuple[str, ...] = ()
    """Those among them to which the engine had promised a node."""
    mistrusted: bool = False
    """The engine promised a node and was wrong: patience alone counts from then on."""
    told: datetime | None = None
    """When it was last explained."""

    def controller(self, uid: str) -> PodController:
        return PodController(self.kind, self.name, uid, self.apiVersion)


def new_record(owner: PodController, namespace: str) -> LoopRecord:
    return LoopRecord(owner.kind, owner.name, namespace, owner.apiVersion)


def text_of(record: LoopRecord, *, armed: bool) -> str:
    return f"{HOLD if armed else COUNT} {msgspec.json.encode(record).decode()}"


def record_of(text: str, now: datetime) -> LoopRecord | None:
    """None for what is none: whoever may write the ConfigMap can write anything. A clock that was ahead is set back."""
    word, _, content = text.partition(" ")
    if word not in (HOLD, COUNT):
        return None
    try:
        record = msgspec.json.decode(content, type=LoopRecord)
        return _not_later(record, now)
    except (msgspec.MsgspecError, ValueError, OverflowError):
        return None


def _not_later(record: LoopRecord, now: datetime) -> LoopRecord:
    def known(at: datetime | None) -> datetime | None:
        if at is None:
            return None
        # A time without a zone is none that we wrote.
        return min(at if at.tzinfo else at.replace(tzinfo=UTC), now)

    rejections = tuple(
        msgspec.structs.replace(own, at=known(own.at) or now) for own in record.rejections[-MOST_REJECTIONS:]
    )
    return msgspec.structs.replace(
        record,
        rejections=rejections,
        held=known(record.held),
        last=known(record.last),
        told=known(record.told),
        tries=max(record.tries, 0),
    )
