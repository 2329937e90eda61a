"""Small fleets to plan with."""

from numafit.cluster.plan.planned import PlannedNodes
from numafit.cluster.sim.file import Readers, read_groups
from numafit.machine.sketch.line import read_sketch

KUBELET = '{cpuManagerPolicy: static, topologyManagerPolicy: single-numa-node, reservedSystemCPUs: "0,8"}'
SKETCH = "2 sockets x 4 cores x 2 threads, 16Gi per numa, gpu 0@0 1@0 2@1 3@1"


def planned(
    kubelet: str = KUBELET, *, counts: tuple[int, ...] = (2,), release: str = "v1.36.4", sketch: str = SKETCH
) -> PlannedNodes:
    lines = ["nodes:"]
    for number, count in enumerate(counts):
        lines += [
            f"  - name: box{number}",
            f"    count: {count}",
            f"    machine: {sketch}",
            f"    kubelet: {kubelet}",
            f"    release: {release}",
        ]
    groups = read_groups("\n".join(lines), "nodes.yaml", Readers(read_sketch, lambda _: ""))
    return PlannedNodes(tuple((group, group.names) for group in groups))
