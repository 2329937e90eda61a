"""A program for a guest: binds itself, touches memory, and tells as JSON what the kernel says of it.

Called with `LEASE CPUS MEMS`, then `strict` or not, then `rebind=CPUS` or not.
"""

import json
import mmap
import re
import subprocess
import sys
from pathlib import Path

from numafit.bits import cpuset_text, parse_cpuset
from numafit.host.bind import kernel
from numafit.host.bind.ladder import bind_self, group_pids, lease_groups, rebind
from numafit.host.bind.target import BindError, Bound, Target

SIZE = 32 << 20


def pages_by_node() -> dict[str, int]:
    """Of the largest mapping, which is the memory that was touched."""
    lines = [re.findall(r" N([0-9]+)=([0-9]+)", line) for line in Path("/proc/self/numa_maps").read_text().splitlines()]
    counted = [{node: int(pages) for node, pages in line} for line in lines]
    return max(counted, key=lambda nodes: sum(nodes.values()), default={})


def main() -> None:
    lease, cpus, mems, *steps = sys.argv[1:]
    target = Target(parse_cpuset(cpus), parse_cpuset(mems))
    told: dict[str, object] = {}
    try:
        bound = bind_self(lease, target, strict="strict" in steps)
    except BindError as error:
        print(json.dumps({"error": str(error)}))
        return
    memory = mmap.mmap(-1, SIZE)
    memory[:] = b"x" * SIZE
    now = kernel.status()
    told |= {"rung": bound.rung, "cgroup": bound.cgroup, "policy": bound.memory_policy, "skipped": bound.skipped}
    told |= {"bound": [cpuset_text(bound.cpus), cpuset_text(bound.mems)]}
    told |= {"status": [cpuset_text(now.cpus), cpuset_text(now.mems)], "pages": pages_by_node()}
    told |= {
        "existing": [[group.lease_id, cpuset_text(group.cpus), cpuset_text(group.mems)] for group in lease_groups()]
    }
    for step in steps:
        name, _, value = step.partition("=")
        if name == "rebind":
            with subprocess.Popen(["sleep", "60"]) as child:
                moved = rebind(lease, bound.rung, bound.cgroup, [child.pid], Target(parse_cpuset(value)))
                told["moved"] = cpuset_text(moved.cpus) if isinstance(moved, Bound) else moved
                told["child"] = cpuset_text(kernel.affinity(child.pid))
                told["members"] = len(group_pids(bound.cgroup))
                child.kill()
    print(json.dumps(told))


if __name__ == "__main__":
    main()
