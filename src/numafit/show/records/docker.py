"""The options that Docker would get, and the review of a script with `docker run` lines."""

import shlex
from collections.abc import Mapping, Sequence

import msgspec

from numafit.bits import cpuset_text
from numafit.host.docker.plan import DockerPlan, Review, numafit_words
from numafit.host.request import JobRequest
from numafit.ledger.ledger import Block


class DockerPlanAnswer(msgspec.Struct, frozen=True):
    flags: tuple[str, ...]
    notes: tuple[str, ...]
    cpus: str
    exclusive: bool
    nodes: str
    mems: str
    memory: tuple[Block, ...]
    devices: Mapping[str, tuple[str, ...]]


class LineReviewed(msgspec.Struct, frozen=True):
    line: int
    name: str
    image: str
    wanted: JobRequest
    faults: tuple[str, ...]
    clashes: tuple[str, ...]
    refused: str
    plan: DockerPlanAnswer | None
    command: str


class ReviewAnswer(msgspec.Struct, frozen=True):
    lines: tuple[LineReviewed, ...]


def docker_plan_record(plan: DockerPlan) -> DockerPlanAnswer:
    lease = plan.lease
    return DockerPlanAnswer(
        plan.added.flags,
        plan.added.notes,
        cpuset_text(plan.cpus),
        bool(lease.exclusive),
        cpuset_text(lease.nodes),
        cpuset_text(lease.mems),
        lease.memory,
        lease.devices,
    )


def review_record(reviews: Sequence[Review]) -> ReviewAnswer:
    return ReviewAnswer(tuple(_line(one) for one in reviews))


def _line(one: Review) -> LineReviewed:
    run = one.line.run
    return LineReviewed(
        one.line.number,
        run.value("name") or "",
        run.image,
        one.written.request,
        one.written.faults,
        one.clashes,
        one.refused,
        docker_plan_record(one.plan) if one.plan is not None else None,
        shlex.join(numafit_words(one.written, run)),
    )
