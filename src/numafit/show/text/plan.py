"""A placement in words: where a job would go, and the same numbers as command lines of other tools."""

from collections.abc import Callable, Mapping, Sequence
from shlex import join, quote

from numafit.bits import cpuset_text, mask_of
from numafit.host.grant import sentence_about
from numafit.host.place import Placed
from numafit.quantity import Quantity
from numafit.show.table import PLAIN, Screen, listed


def numactl_line(cpus: int, mems: int, command: Sequence[str]) -> str:
    return join(["numactl", f"--physcpubind={cpuset_text(cpus)}", f"--membind={cpuset_text(mems)}", *command])


def systemd_line(cpus: int, mems: int, command: Sequence[str]) -> str:
    properties = ["-p", f"AllowedCPUs={cpuset_text(cpus)}", "-p", f"AllowedMemoryNodes={cpuset_text(mems)}"]
    return join(["systemd-run", "--scope", *properties, "--", *command])


def env_lines(variables: Mapping[str, str]) -> str:
    return "\n".join(f"export {name}={quote(value)}" for name, value in variables.items())


TOOL_LINES: Mapping[str, Callable[[int, int, Sequence[str]], str]] = {"numactl": numactl_line, "systemd": systemd_line}


def plan_text(placed: Placed, cpus: int, *, explain: bool, screen: Screen = PLAIN) -> str:
    kind = "exclusive" if placed.exclusive else "shared"
    rows = [
        ("CPUs", f"{cpuset_text(cpus)} ({cpus.bit_count()}, {kind})"),
        ("NUMA nodes", cpuset_text(placed.nodes) or "any"),
        ("memory", _memory_text(placed)),
    ]
    rows += [(resource, ", ".join(ids)) for resource, ids in placed.devices.items()]
    rows.append(("aligned", "yes" if placed.decision.containers["lease"].affinity[1] else "no: it crosses NUMA nodes"))
    if explain:
        rows.append(("why", sentence_about(placed)))
        if placed.gpu_reason:
            rows.append(("GPUs", placed.gpu_reason))
    return listed(rows, screen)


def _memory_text(placed: Placed) -> str:
    if not placed.memory:
        return f"not held, from node {cpuset_text(placed.mems)}"
    return ", ".join(
        f"{Quantity(block.size, 0, 'BinarySI')} on node {cpuset_text(mask_of(block.numa))}" for block in placed.memory
    )
