"""What is a loop, and for how long the next pod of one waits: rules about what is remembered of one owner."""

from datetime import UTC, datetime, timedelta

from msgspec.structs import replace

from numafit.cluster.guard.record import LoopRecord
from numafit.cluster.live.pods import ClusterPod

REJECTIONS, WINDOW = 3, timedelta(minutes=1)
"""So many within so long are a loop."""
FIRST_PATIENCE, LONGEST_PATIENCE = timedelta(seconds=10), timedelta(minutes=15)
FIRST_PAUSE, LONGEST_PAUSE = timedelta(seconds=1), timedelta(minutes=1)
KNOWN_BY = timedelta(seconds=5)
"""After which every API server has heard of an owner that is held."""


def patience(tries: int) -> timedelta:
    """After so many pods that came to grief."""
    longer: timedelta = FIRST_PATIENCE * 2 ** min(tries, 10)
    return min(longer, LONGEST_PATIENCE)


def failed_try(record: LoopRecord, uid: str, now: datetime) -> LoopRecord:
    return replace(
        record,
        tries=record.tries + 1,
        last=now,
        released=tuple(own for own in record.released if own != uid),
        foreseen=tuple(own for own in record.foreseen if own != uid),
        mistrusted=record.mistrusted or uid in record.foreseen,
    )


def made_late(pod: ClusterPod, held: datetime) -> bool:
    """When admission has long known of the hold."""
    made = moment(pod.metadata.creationTimestamp)
    return made is not None and made - held > KNOWN_BY


def loops(record: LoopRecord, now: datetime) -> bool:
    return sum(now - own.at <= WINDOW for own in record.rejections) >= REJECTIONS


def recent(record: LoopRecord, now: datetime) -> bool:
    return now - newest(record) <= WINDOW


def newest(record: LoopRecord) -> datetime:
    times = [own.at for own in record.rejections]
    return max([*times, *([record.last] if record.last else [])], default=datetime(1970, 1, 1, tzinfo=UTC))


def came_after(pod: ClusterPod, record: LoopRecord) -> bool:
    """It was let go by us, or made in a later second than any rejection: pods that ran before say nothing."""
    if pod.uid in record.released:
        return True
    made = moment(pod.metadata.creationTimestamp)
    return made is not None and all(made > own.at for own in record.rejections)


def moment(text: str) -> datetime | None:
    """As the API server writes it."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        return None


def tried_at(record: LoopRecord, *, hopeless: bool) -> datetime | None:
    """When one of its pods is let go, whatever is known; None where it is not held. `hopeless`: each node is known, and
    none can take it."""
    if record.held is None or record.last is None:
        return None
    return record.last + (LONGEST_PATIENCE if hopeless else patience(record.tries))


def pause(times: int) -> timedelta:
    """Before a pod is let go that could not be, so many times."""
    longer: timedelta = FIRST_PAUSE * 2 ** min(times - 1, 10)
    return min(longer, LONGEST_PAUSE)


def seconds(time: timedelta) -> str:
    whole = int(time.total_seconds())
    return f"{whole} s" if whole < 60 else f"{whole // 60} min {whole % 60} s".replace(" 0 s", "")
