"""The shares of the processes of a job. Many processes start at once with `numafit rank`: this module loads little."""

from collections.abc import Sequence

import msgspec

from numafit.bits import cpuset_text
from numafit.host.run.rank import JobResources, Member
from numafit.host.run.share import RankShare


class ShareRecord(msgspec.Struct, frozen=True, rename="camel"):
    rank: int
    gpu: str
    gpu_node: int | None
    cpus: str
    memory_node: int | None
    nic: str = ""


class SharesAnswer(msgspec.Struct, frozen=True):
    rank: int
    size: int
    launcher: str
    lease: str
    shares: tuple[ShareRecord, ...]
    notes: tuple[str, ...]


def shares_record(
    member: Member, facts: JobResources, parts: Sequence[RankShare], notes: Sequence[str]
) -> SharesAnswer:
    return SharesAnswer(
        member.rank,
        member.size,
        member.launcher.name,
        facts.lease,
        tuple(
            ShareRecord(share.rank, share.gpu, share.gpu_node, cpuset_text(share.cpus), share.memory_node, share.nic)
            for share in parts
        ),
        tuple(notes),
    )
