"""What the variables of a running job tell of its lease: enough to enter it into a ledger again."""

from collections.abc import Iterable, Mapping

from numafit.host.environment import CPUS, DEVICES, LEASE, MEMS, NODES, parse_devices, variables
from numafit.host.lease import Lease
from numafit.ledger.memory_values import Block
from numafit.machine.bits import CpusetError, cpuset_text, mask_of, members, parse_cpuset

MEMORY = "NUMAFIT_MEMORY"
"""`BYTES@NODES` for each block that is held."""
SHARED = "NUMAFIT_SHARED"
NAME = "NUMAFIT_NAME"


def lease_variables(lease: Lease, cpus: int, cores: Iterable[int]) -> dict[str, str]:
    """`cpus` are those that the job is bound to; `cores` the CPU sets of the machine's cores."""
    added = variables(
        lease=lease.id,
        cpus=cpus,
        mems=lease.mems,
        nodes=lease.nodes,
        exclusive=bool(lease.exclusive),
        devices=lease.devices,
        cores=cores,
    )
    if lease.memory:
        added[MEMORY] = ";".join(f"{block.size}@{cpuset_text(mask_of(block.numa))}" for block in lease.memory)
    if lease.pooled:
        added[SHARED] = "1"
    if lease.name:
        added[NAME] = lease.name
    return added


def lease_told(environment: Mapping[str, str]) -> Lease | None:
    """Without owners and times; None when the variables make no sense."""
    try:
        cpus = parse_cpuset(environment.get(CPUS, ""))
        return Lease(
            id=environment[LEASE],
            name=environment.get(NAME, ""),
            uid=0,
            user="",
            since=0.0,
            exclusive=0 if environment.get(SHARED) else cpus,
            bound=cpus,
            nodes=parse_cpuset(environment.get(NODES, "")),
            mems=parse_cpuset(environment.get(MEMS, "")),
            memory=_blocks(environment.get(MEMORY, "")),
            devices=parse_devices(environment.get(DEVICES, "")),
        )
    except (KeyError, ValueError, CpusetError):
        return None


def _blocks(text: str) -> tuple[Block, ...]:
    blocks = []
    for part in text.split(";") if text else ():
        size, _, nodes = part.partition("@")
        blocks.append(Block(tuple(members(parse_cpuset(nodes))), "memory", int(size)))
    return tuple(blocks)
