"""One pod through the topology manager and all its managers; the pod before it is gone and its state is stale."""

from collections.abc import Callable, Iterator, Mapping
from functools import partial
from itertools import cycle

from bench import Row
from bench.shapes import EIGHT, FIVE_RESOURCES, FOUR, FPGA, GB200, GPU, NIC, TWO, Shape, guaranteed, started
from numafit.decision.admit import admit
from numafit.decision.files import state_files
from numafit.decision.life import release
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod

KUBELET = (
    ("2numa-128cpu", TWO, "best-effort", 2.776822e-3),
    ("2numa-128cpu", TWO, "single-numa-node", 2.706187e-3),
    ("2numa-128cpu", TWO, "none", 4.772219e-3),
    ("4numa-128cpu", FOUR, "best-effort", 4.576897e-3),
    ("4numa-128cpu", FOUR, "single-numa-node", 2.159259e-3),
    ("4numa-128cpu", FOUR, "none", 5.128473e-3),
    ("8numa-256cpu-nogpu", EIGHT, "best-effort", 44.056457e-3),
    ("8numa-256cpu-nogpu", EIGHT, "single-numa-node", 20.394608e-3),
    ("8numa-256cpu-nogpu", EIGHT, "none", 10.386655e-3),
)
"""Seconds, with state files on tmpfs; numafit makes those only when asked."""

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
THREE_DEVICES = {GPU: 1, NIC: 1, FPGA: 1}


def rows() -> Iterator[Row]:
    for name, shape, policy, kubelet in KUBELET:
        devices = {} if "nogpu" in name else {GPU: 1}
        run = _admission(*started(shape, policy), _pods(8, "4Gi", devices))
        yield Row(f"admit/{name}/{policy}", run, 0.5e-3 if shape is TWO else None, kubelet)
    for policy in POLICIES:
        shape = Shape(8, 256, devices=FIVE_RESOURCES)
        run = _admission(*started(shape, policy), _pods(8, "4Gi", THREE_DEVICES))
        yield Row(f"admit/8numa-256cpu/{policy}/5 resources", run, 3e-3)
    yield from beyond()
    yield from _files()


def beyond() -> Iterator[Row]:
    """More NUMA nodes than the kubelet can merge in a lifetime."""
    sixteen = Shape(16, 512, devices=FIVE_RESOURCES)
    for policy in ("best-effort", "restricted", "single-numa-node"):
        yield _row("16numa-512cpu", sixteen, policy, (8, "4Gi", THREE_DEVICES), 50e-3)
    yield _row("16numa-512cpu", sixteen, "best-effort", (100, "200Gi", {GPU: 14, NIC: 9, FPGA: 5}), 50e-3)
    yield _row("16numa-512cpu", sixteen, "best-effort", (100, "200Gi", {GPU: 14, NIC: 9, FPGA: 5}), 50e-3, closest=True)
    for policy in ("best-effort", "restricted", "single-numa-node"):
        yield _row("gb200-34numa", GB200, policy, (36, "200Gi", THREE_DEVICES), 100e-3)
    yield _row("gb200-34numa", GB200, "best-effort", (100, "700Gi", {GPU: 4, NIC: 2, FPGA: 1}), 100e-3)
    yield _row("gb200-34numa", GB200, "best-effort", (100, "700Gi", {GPU: 4, NIC: 2, FPGA: 1}), 100e-3, closest=True)
    large = Shape(64, 1024, devices=FIVE_RESOURCES)
    for fits in (1, 2, 3, 4):
        asked = (14 * fits, f"{60 * fits}Gi", {GPU: 4 * fits, NIC: 2 * fits, FPGA: fits})
        yield _row("64numa-1024cpu", large, "best-effort", asked, 1.0)
    yield _row("64numa-1024cpu", large, "restricted", asked, 1.0)
    yield _row("64numa-1024cpu", large, "best-effort", asked, 1.0, closest=True)
    for fits in (2, 3, 4):
        asked = (12 * fits, f"{50 * fits}Gi", {GPU: 4 * fits - 1, NIC: fits, FPGA: 2 * fits})
        yield _row("64numa-1024cpu", large, "best-effort", asked, 1.0, scattered=True)
        yield _row("64numa-1024cpu", large, "best-effort", asked, 1.0, scattered=True, closest=True)


def _row(
    name: str,
    shape: Shape,
    policy: str,
    asked: tuple[int, str, Mapping[str, int]],
    budget: float,
    *,
    closest: bool = False,
    scattered: bool = False,
) -> Row:
    options = {"prefer-closest-numa-nodes": "true"} if closest else {}
    node, ledger = started(shape, policy, topology_options=options)
    if scattered:
        ledger = _scattered(node, ledger, shape)
    cpus, memory, devices = asked
    words = [f"admit/{name}/{policy}/{cpus} cpus, {memory}, {'+'.join(map(str, devices.values()))} devices"]
    words += ["closest"] * closest + ["scattered"] * scattered
    return Row(", ".join(words), _admission(node, ledger, _pods(cpus, memory, devices)), budget)


def _scattered(node: Node, ledger: Ledger, shape: Shape) -> Ledger:
    """Pods of all sizes came and most went: every NUMA node is left with something else."""
    for i in range(shape.nodes * 2):
        devices = {GPU: i % 3, NIC: (i + 1) % 3, FPGA: (i * i) % 3}
        pod = guaranteed(f"old-{i}", 1 + i * 7 % 9, f"{1 + i * 11 % 40}Gi", {k: v for k, v in devices.items() if v})
        ledger = admit(node, ledger, pod).ledger
    for i in range(0, shape.nodes * 2, 3):
        ledger = release(ledger, f"old-{i}")
    return ledger


def _pods(cpus: int, memory: str, devices: Mapping[str, int]) -> tuple[Pod, Pod]:
    return guaranteed("one", cpus, memory, devices), guaranteed("other", cpus, memory, devices)


def _admission(node: Node, ledger: Ledger, pods: tuple[Pod, Pod]) -> Callable[[], object]:
    coming = cycle(pods)
    held = [(next(coming).uid, admit(node, ledger, pods[0]).ledger)]

    def run() -> None:
        before, ledger = held[0]
        pod = next(coming)
        held[0] = pod.uid, admit(node, release(ledger, before), pod).ledger

    return run


def _files() -> Iterator[Row]:
    """State files with checksums, made only when they are asked for."""
    for live in (1, 10, 100):
        node, ledger = started(TWO, "best-effort")
        for i in range(live):
            ledger = admit(node, ledger, guaranteed(f"pod-{i}", 1, "1Gi", {GPU: 1} if i < 8 else {})).ledger
        yield Row(f"state files/2numa-128cpu/{live} pods", partial(state_files, node, ledger))
