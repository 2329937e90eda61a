"""A placement in words: where a job would go, and the same numbers as command lines of other tools."""

from collections.abc import Callable, Mapping, Sequence
from shlex import join, quote

from numafit.bits import cpuset_text, mask_of
from numafit.host.grant import sentence_about
from numafit.host.lease import Lease
from numafit.host.place import Placed
from numafit.quantity import Quantity
from numafit.show.table import PLAIN, Screen, listed


def numactl_line(cpus: int, lease: Lease, command: Sequence[str]) -> str:
    preferred = "preferred-many" if lease.mems.bit_count() > 1 else "preferred"
    memory = {"prefer": preferred, "bind": "membind", "interleave": "interleave"}[lease.bind]
    return join(["numactl", f"--physcpubind={cpuset_text(cpus)}", f"--{memory}={cpuset_text(lease.mems)}", *command])


def systemd_line(cpus: int, lease: Lease, command: Sequence[str]) -> str:
    """Memory that is preferred comes from the nodes of the CPUs by itself: a scope can only force."""
    properties = {"AllowedCPUs": cpuset_text(cpus)}
    if lease.forced_mems:
        properties["AllowedMemoryNodes"] = cpuset_text(lease.forced_mems)
    if lease.limit_memory:
        properties["MemoryMax"] = str(lease.limit_memory)
    numactl = ["numactl", f"--interleave={cpuset_text(lease.mems)}"] if lease.bind == "interleave" else []
    words = [word for name, value in properties.items() for word in ("-p", f"{name}={value}")]
    return join(["systemd-run", "--scope", *words, "--", *numactl, *command])


def env_lines(variables: Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={quote(value)}" for name, value in variables.items())


TOOL_LINES: Mapping[str, Callable[[int, Lease, Sequence[str]], str]] = {
    "numactl": numactl_line,
    "systemd": systemd_line,
}


_WAYS = {"prefer": "preferred from", "bind": "from", "interleave": "interleaved over"}


def plan_text(placed: Placed, cpus: int, *, explain: bool, screen: Screen = PLAIN) -> str:
    rows = [
        ("CPUs", f"{cpuset_text(cpus)} ({_count_text(placed, cpus)})"),
        ("NUMA nodes", cpuset_text(placed.nodes) or "any"),
        ("memory", _memory_text(placed)),
    ]
    rows += [(resource, ", ".join(ids)) for resource, ids in placed.devices.items()]
    rows.append(("aligned", _aligned_text(placed)))
    rows += [(f"rank {number}", part.words()) for number, part in enumerate(placed.shares)]
    if explain:
        rows.append(("why", sentence_about(placed)))
        if placed.gpu_reason:
            rows.append(("GPUs", placed.gpu_reason))
    return listed(rows, screen)


def _count_text(placed: Placed, cpus: int) -> str:
    count, asked = cpus.bit_count(), placed.request.cpus
    if not placed.exclusive:
        return f"{count}, shared"
    return f"{count}, exclusive" if count <= asked else f"{count}, exclusive; {asked} asked for, in whole cores"


def _aligned_text(placed: Placed) -> str:
    what = "rank" if placed.request.ranks else "device"
    if placed.request.policy == "none":
        return "not looked at"
    if placed.near is None:
        return "yes" if placed.aligned else "no: it crosses NUMA nodes"
    if placed.near:
        return "yes" if placed.nodes.bit_count() < 2 else f"yes: each {what} has CPUs and memory on its own node"
    return f"no: not each {what} has all CPUs and memory on its own node"


def _memory_text(placed: Placed) -> str:
    limit = placed.request.limit_memory
    return _source_text(placed) + (f"; at most {Quantity(limit, 0, 'BinarySI')}" if limit else "")


def _source_text(placed: Placed) -> str:
    if not placed.memory:
        return f"not held, {_WAYS[placed.bind]} node {cpuset_text(placed.mems)}"
    held = ", ".join(
        f"{Quantity(block.size, 0, 'BinarySI')} on node {cpuset_text(mask_of(block.numa))}" for block in placed.memory
    )
    return held if placed.bind == "bind" else f"{held}; {_WAYS[placed.bind]} node {cpuset_text(placed.mems)}"
