"""The words between the agent and its workers: a job, and what came of it, each in a frame."""

import pickle

import msgspec

from numafit.ledger.ledger import Ledger
from numafit.service.node import ShownNode
from numafit.show.records.ledger import Known

READY = "ready"
"""The first job of a worker, which asks nothing."""
FRAME = 4
"""Bytes of the length that precedes each frame."""


class Now(msgspec.Struct, frozen=True):
    """Who holds what, for a worker that has not seen this revision yet."""

    ledger: Ledger
    known: dict[str, Known]
    revision: int
    time: str


class Job(msgspec.Struct, frozen=True):
    kind: str
    body: bytes
    seconds: float = 0.0
    """That the answer may take."""
    place: ShownNode | None = None
    """The node that is shown, told once to each worker."""
    now: Now | None = None


class Done(msgspec.Struct, frozen=True):
    status: int
    content: bytes
    """The answer, or a problem where `status` is 400 or more."""


def framed(data: bytes) -> bytes:
    return len(data).to_bytes(FRAME, "big") + data


def packed(job: Job) -> bytes:
    return pickle.dumps(job, protocol=pickle.HIGHEST_PROTOCOL)


def unpacked(data: bytes) -> Job:
    """Only a worker reads a pickle, of the agent that started it; the agent reads none."""
    job: Job = pickle.loads(data)
    return job


def encoded(done: Done) -> bytes:
    return msgspec.msgpack.encode(done)


def decoded(data: bytes) -> Done:
    return msgspec.msgpack.decode(data, type=Done)
