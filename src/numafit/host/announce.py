"""What is said of a job when it starts: what it has, and how it is bound."""

from numafit.amounts import size_text
from numafit.bits import cpuset_text
from numafit.host.bind.target import CPUSET_RUNGS, INTERLEAVE, POLICY, Bound
from numafit.host.lease import Lease


def start_sentences(lease: Lease, bound: Bound, asked: int, *, explain: bool = False) -> list[str]:
    """`asked` are the CPUs that were asked for; whole cores may be more."""
    whole = f" (whole cores, {asked} asked for)" if 0 < asked < lease.exclusive.bit_count() else ""
    parts = [f"CPUs {cpuset_text(bound.cpus)}" + (" of the shared pool" if lease.pooled else whole)]
    parts.append(_memory_words(lease, bound))
    parts += [device for ids in lease.devices.values() for device in ids]
    how = f"{bound.rung} ({bound.memory_policy})" if bound.memory_policy else bound.rung
    told = [f"lease {lease.id}: {', '.join(parts)}; bound by {how}"]
    if explain:
        told.append(lease.sentence)
        told += [f"rank {number}: {part.words()}" for number, part in enumerate(lease.shares)]
    # A stronger binding may be had by another user or on another host; who asks for reasons wants all of them.
    for reason in bound.skipped:
        if bound.rung not in CPUSET_RUNGS or explain or reason.startswith(POLICY):
            told.append(f"not bound by {reason}")
    return told


def _memory_words(lease: Lease, bound: Bound) -> str:
    nodes = cpuset_text(bound.mems)
    way = bound.memory_policy.partition(" ")[0]
    where = f"memory of node {nodes}{' first' if way == 'preferred' else ''}" if nodes else "memory from anywhere"
    if way == INTERLEAVE:
        where = f"memory interleaved over node {nodes}"
    return where + (f", at most {size_text(lease.limit_memory)}" if lease.limit_memory else "")
