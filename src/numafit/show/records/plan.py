"""Where a job would go, and what it would be told; nothing is taken."""

from collections.abc import Mapping

import msgspec

from numafit.bits import cpuset_text
from numafit.host.grant import sentence_about
from numafit.host.lease import LeasePart
from numafit.host.place import Placed
from numafit.ledger.ledger import Block


class JobPlanAnswer(msgspec.Struct, frozen=True, rename="camel"):
    cpus: str
    exclusive: bool
    nodes: str
    mems: str
    memory: tuple[Block, ...]
    devices: Mapping[str, tuple[str, ...]]
    aligned: bool
    sentence: str
    gpu_reason: str
    environment: Mapping[str, str]
    bind: str = "bind"
    """How memory comes from `mems`: `prefer`, `bind` or `interleave`."""
    shares: tuple[LeasePart, ...] = ()
    """Per rank, where their number was given."""


def job_plan_record(placed: Placed, cpus: int, variables: Mapping[str, str]) -> JobPlanAnswer:
    return JobPlanAnswer(
        cpuset_text(cpus),
        bool(placed.exclusive),
        cpuset_text(placed.nodes),
        cpuset_text(placed.mems),
        placed.memory,
        placed.devices,
        placed.aligned,
        sentence_about(placed),
        placed.gpu_reason,
        variables,
        placed.bind,
        placed.shares,
    )
