"""Promises against observations, on a made-up machine: two NUMA nodes with four CPUs each, a GPU on each."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.host.audit.alignment import audit_process
from numafit.host.audit.codes import CODES, AuditFinding
from numafit.host.audit.promise import Promise, audit_promise
from numafit.host.gpu.users import GpuUse
from numafit.host.process.numa_maps import Pages
from numafit.host.process.observation import Observation, Thread
from numafit.machine.model import Cpu, Device, Machine, NumaNode

GIB = 1 << 30
LOW, HIGH, ALL = 0x0F, 0xF0, 0xFF
PAGE = Path(__file__).resolve().parents[3] / "docs" / "audit.md"


def machine(*extra: NumaNode, numa: tuple[int, ...] | None = (1,)) -> Machine:
    return Machine(
        cpus=tuple(Cpu(id=cpu, core=cpu, socket=cpu // 4, numa=cpu // 4) for cpu in range(8)),
        numa_nodes=(NumaNode(0, 64 * GIB, {}, (10, 20)), NumaNode(1, 64 * GIB, {}, (20, 10)), *extra),
        devices=(
            Device("nvidia.com/gpu", "GPU-0", (0,), kind="gpu", bus="0000:01:00.0"),
            Device("nvidia.com/gpu", "GPU-1", numa, kind="gpu", bus="0000:81:00.0"),
            Device("nvidia.com/mig-1g.10gb", "MIG-1", kind="mig", parent="GPU-1"),
        ),
    )


def process(
    *threads: tuple[int, int],
    mems: int = 3,
    gpus: tuple[str, ...] | None = (),
    pages: Pages | None = None,
    pid: int = 7,
) -> Observation:
    """`threads` are pairs of where one may run and where it ran last."""
    return Observation(
        pid=pid,
        name="train",
        cpus=threads[0][0],
        mems=mems,
        threads=tuple(Thread(pid + number, *thread) for number, thread in enumerate(threads)),
        gpus=None if gpus is None else tuple(GpuUse(gpu) for gpu in gpus),
        pages=pages,
    )


def codes(findings: list[AuditFinding]) -> list[str]:
    return [found.code for found in findings]


JOB = Promise("job", (7,), cpus=LOW, mems=1, devices={"nvidia.com/gpu": ("GPU-0",)}, exclusive=True)
BOUND = Pages({0: GIB}, policies={"bind:0": 3}, mappings=3)


def test_a_promise_that_holds_has_no_finding() -> None:
    """Also where the kernel would allow more memory nodes, but a policy binds every mapping."""
    assert audit_promise(machine(), JOB, [process((LOW, 0), (0b11, 1), gpus=("GPU-0",), pages=BOUND)]) == []


def test_memory_on_another_node_is_told_by_share_and_amount() -> None:
    """The nodes, the share, the bytes and the part that belongs to files."""
    pages = Pages({0: GIB, 1: 3 * GIB}, file_nodes={1: GIB}, policies={"bind:0": 1}, mappings=1)
    assert audit_promise(machine(), JOB, [process((LOW, 0), gpus=("GPU-0",), pages=pages)]) == [
        AuditFinding(
            "NA001",
            "error",
            "job",
            7,
            "75% of its memory (3Gi, 1Gi of that of files) lies on NUMA node 1, but NUMA node 0 was promised",
            "migratepages 7 1 0; start it with numafit run, which binds before the first page",
        )
    ]


@pytest.mark.parametrize(
    ("here", "there", "found"),
    [
        (0, 16 << 20, ["NA001"]),
        (0, (16 << 20) - 1, []),
        (19 * GIB, GIB, ["NA001"]),
        (19 * GIB, GIB - 4096, []),
    ],
)
def test_a_little_memory_elsewhere_is_not_worth_a_word(here: int, there: int, found: list[str]) -> None:
    """16 MiB and a twentieth, both are needed."""
    pages = Pages({0: here, 1: there}, policies={"bind:0": 1}, mappings=1)
    assert codes(audit_promise(machine(), JOB, [process((LOW, 0), gpus=("GPU-0",), pages=pages)])) == found


def test_memory_of_a_device_is_not_on_a_wrong_node() -> None:
    """On coherent systems the memory of a GPU is a NUMA node."""
    pages = Pages({0: GIB, 2: 8 * GIB}, policies={"bind:0": 1}, mappings=1)
    seen = process((LOW, 0), gpus=("GPU-0",), pages=pages)
    assert audit_promise(machine(NumaNode(2, 96 * GIB, device="GPU-0")), JOB, [seen]) == []


def test_a_thread_that_ran_outside_differs_from_one_that_may() -> None:
    """One sleeps where it ran before it was bound: that is no fault."""
    threads = ((LOW, 6), (ALL, 5), (ALL, 1), (HIGH, 7), (0x1F, 2))
    found = audit_promise(machine(), JOB, [process(*threads, gpus=("GPU-0",), pages=BOUND)])
    assert [(each.code, each.sentence, each.cure) for each in found] == [
        ("NA002", "2 of 5 threads ran last on CPU 5,7, but CPU 0-3 was promised", "taskset -apc 0-3 7"),
        ("NA003", "2 of 5 threads may run on CPU 0-7, but CPU 0-3 was promised", "taskset -apc 0-3 7"),
    ]


@pytest.mark.parametrize("policy", ["default", "prefer:0", "bind:0-1"])
def test_memory_that_may_come_from_elsewhere_is_told(policy: str) -> None:
    """A preference does not hold when the node is full."""
    pages = Pages({0: GIB}, policies={policy: 1}, mappings=1)
    found = audit_promise(machine(), JOB, [process((LOW, 0), gpus=("GPU-0",), pages=pages)])
    assert [(each.code, each.sentence) for each in found] == [
        ("NA004", "its memory may come from NUMA node 0-1, but 0 was promised")
    ]


def test_deliberate_interleave_is_no_finding() -> None:
    """With a lease or without; what lies elsewhere for another reason still is."""
    spread = Pages({0: GIB, 1: GIB}, interleaved={0: GIB, 1: GIB}, policies={"interleave:0-1": 9}, mappings=9)
    seen = process((LOW, 0), gpus=("GPU-0",), pages=spread)
    assert audit_promise(machine(), JOB, [seen]) == audit_process(machine(), seen) == []
    mixed = replace(spread, interleaved={0: GIB, 1: GIB // 2})
    seen = process((LOW, 0), gpus=("GPU-0",), pages=mixed)
    assert codes(audit_promise(machine(), JOB, [seen])) == ["NA001"]
    assert codes(audit_process(machine(), seen)) == ["NA013"]


def test_memory_that_was_only_preferred_may_come_from_elsewhere() -> None:
    """That it may is no finding; that much of it did is a warning, not a broken promise."""
    job = replace(JOB, bind="prefer")
    policies = {"prefer (many):0": 1}
    here = Pages({0: GIB}, policies=policies, mappings=1)
    assert audit_promise(machine(), job, [process((LOW, 0), gpus=("GPU-0",), pages=here)]) == []
    there = Pages({0: GIB, 1: GIB}, policies=policies, mappings=1)
    (found,) = audit_promise(machine(), job, [process((LOW, 0), gpus=("GPU-0",), pages=there)])
    assert (found.code, found.severity) == ("NA013", "warning")
    assert found.sentence == "50% of its memory (1Gi) lies on NUMA node 1, but NUMA node 0 is preferred"


def test_no_cure_binds_the_first_process() -> None:
    """All that it starts would inherit its CPUs."""
    first = process((0b0011_0001, 0), gpus=("GPU-1",), pid=1)
    found = audit_process(machine(), first) + audit_promise(machine(), replace(JOB, pids=(1,)), [first])
    assert {each.code for each in found} >= {"NA012", "NA010", "NA003"}
    assert [each.cure for each in found if "taskset" in each.cure] == []


def test_another_gpu_than_promised_is_told_and_the_promised_one_is_idle() -> None:
    found = audit_promise(machine(), JOB, [process((LOW, 0), gpus=("GPU-1",), pages=BOUND)])
    assert [(each.code, each.pid) for each in found] == [("NA005", 7), ("NA009", 7), ("NA006", None)]


def test_a_gpu_is_known_by_its_bus_and_a_slice_by_its_gpu() -> None:
    """A machine that was read without the driver knows no UUID; old drivers name the GPU of a slice."""
    by_bus = process((LOW, 0), pages=BOUND)
    use = GpuUse("GPU-of-the-driver", "0000:01:00.0")
    assert audit_promise(machine(), JOB, [Observation(7, "x", threads=by_bus.threads, mems=1, gpus=(use,))]) == []
    slices = Promise("slice", (7,), devices={"nvidia.com/mig-1g.10gb": ("MIG-1",)})
    assert audit_promise(machine(), slices, [process((HIGH, 5), gpus=("GPU-1",))]) == []


def test_unknown_gpus_are_not_guessed() -> None:
    """Neither used nor unused when the driver was not asked."""
    assert audit_promise(machine(), JOB, [process((LOW, 0), gpus=None, pages=BOUND)]) == []


def test_cpus_on_two_nodes_are_told_only_when_one_would_do() -> None:
    """Eight CPUs need both nodes."""
    found = audit_process(machine(), process((0b0011_0001, 0)))
    assert [(each.code, each.cure) for each in found] == [
        ("NA012", "taskset -apc 4-7 7, or start it with numafit run --cpus 3")
    ]
    assert audit_process(machine(), process((ALL, 0))) == []


def test_memory_far_from_the_cpus_is_told_without_a_promise() -> None:
    pages = Pages({1: GIB}, policies={"default": 1}, mappings=1)
    found = audit_process(machine(), process((LOW, 0), pages=pages))
    assert [(each.code, each.sentence) for each in found] == [
        ("NA013", "100% of its memory (1Gi) lies on NUMA node 1, but its CPUs 0-3 are on NUMA node 0")
    ]
    assert audit_process(machine(), process((ALL, 0), pages=pages)) == []


@pytest.mark.parametrize(("distances", "found"), [((12, 20, 10), []), ((20, 12, 10), ["NA013"]), (None, [])])
def test_memory_without_cpus_belongs_to_the_nearest_node(distances: tuple[int, ...] | None, found: list[str]) -> None:
    """Where the distances are unknown nothing is claimed."""
    pages = Pages({2: GIB}, policies={"default": 1}, mappings=1)
    box = machine(NumaNode(2, 64 * GIB, {}, distances))
    assert codes(audit_process(box, process((LOW, 0), pages=pages))) == found


@pytest.mark.parametrize(
    ("cpus", "numa", "found"),
    [
        (HIGH, (1,), []),
        (LOW, (1,), ["NA009"]),
        (ALL, (1,), ["NA010"]),
        (LOW, (), ["NA011"]),
        (LOW, None, ["NA011"]),
    ],
)
def test_a_gpu_is_near_far_loose_or_unknown(cpus: int, numa: tuple[int, ...] | None, found: list[str]) -> None:
    """-1 in /sys is no node, and none is guessed."""
    assert codes(audit_process(machine(numa=numa), process((cpus, 4), gpus=("GPU-1",)))) == found


def test_a_process_with_gpus_on_both_nodes_may_run_on_both() -> None:
    assert audit_process(machine(), process((ALL, 0), gpus=("GPU-0", "GPU-1"))) == []


def test_each_code_has_its_section_in_the_page() -> None:
    """In the order of the table, with its severity and title."""
    sections = [line for line in PAGE.read_text().splitlines() if line.startswith("### NA")]
    assert sections == [f"### {name}: {code.title} ({code.severity})" for name, code in CODES.items()]
