"""Which process of a job this is, and what the job may use."""

import pytest

from numafit.errors import InputError
from numafit.host.bind.target import Target
from numafit.host.run.rank import JobResources, find_member, find_resources, shares_of
from numafit.machine.model import Device, Machine, NumaNode

MACHINE = Machine(
    numa_nodes=(NumaNode(0, 1 << 30), NumaNode(1, 1 << 30), NumaNode(2, 1 << 30, device="GPU-b")),
    devices=(
        Device("nvidia.com/gpu", "GPU-b", (1,), kind="gpu", label="GPU1", bus="0000:90:00.0"),
        Device("nvidia.com/gpu", "GPU-a", (0,), kind="gpu", label="GPU0", bus="0000:10:00.0"),
        Device("nvidia.com/mig-1g.10gb", "MIG-c", kind="mig", parent="GPU-b"),
        Device("example.com/nic", "nic0", (0,), kind="nic"),
    ),
)
ALLOWED = Target(0xFF, 0b111)
LEASE = {"NUMAFIT_LEASE": "x", "NUMAFIT_CPUS": "0-3", "NUMAFIT_MEMS": "0-1"}


@pytest.mark.parametrize(
    ("environment", "expected"),
    [
        ({"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "4"}, ("torchrun", 1, 4)),
        ({"LOCAL_RANK": "1", "LOCAL_SIZE": "2"}, ("DeepSpeed", 1, 2)),
        ({"OMPI_COMM_WORLD_LOCAL_RANK": "0", "OMPI_COMM_WORLD_LOCAL_SIZE": "2"}, ("Open MPI", 0, 2)),
        ({"MPI_LOCALRANKID": "2", "MPI_LOCALNRANKS": "3"}, ("MPICH", 2, 3)),
        ({"SLURM_LOCALID": "3", "SLURM_NTASKS_PER_NODE": "4"}, ("Slurm", 3, 4)),
        ({"SLURM_LOCALID": "0", "SLURM_STEP_TASKS_PER_NODE": "4(x2),3", "SLURM_NODEID": "2"}, ("Slurm", 0, 3)),
        ({"SLURM_LOCALID": "0", "SLURM_STEP_TASKS_PER_NODE": "4(x2)", "SLURM_NODEID": "1"}, ("Slurm", 0, 4)),
        (
            {"LOCAL_RANK": "1", "LOCAL_WORLD_SIZE": "2", "SLURM_LOCALID": "0", "SLURM_NTASKS_PER_NODE": "1"},
            ("torchrun", 1, 2),
        ),
        ({"LOCAL_RANK": "9", "SLURM_LOCALID": "0", "SLURM_NTASKS_PER_NODE": "1"}, ("Slurm", 0, 1)),
    ],
)
def test_the_innermost_launcher_counts(environment: dict[str, str], expected: tuple[str, int, int]) -> None:
    """torchrun under srun: both sets of variables are there. A launcher must say rank and size."""
    member = find_member(environment)
    assert (member.launcher.name, member.rank, member.size) == expected


@pytest.mark.parametrize(
    ("environment", "text"),
    [
        ({}, "environment: no launcher says which of how many processes on this machine this is"),
        ({"LOCAL_RANK": "0"}, "environment: no launcher says"),
        ({"LOCAL_RANK": "x", "LOCAL_WORLD_SIZE": "2"}, 'environment: LOCAL_RANK: "x" is not a number'),
        ({"LOCAL_RANK": "-1", "LOCAL_WORLD_SIZE": "2"}, 'environment: LOCAL_RANK: "-1" is not a number'),
        ({"LOCAL_RANK": "2", "LOCAL_WORLD_SIZE": "2"}, "environment: LOCAL_RANK: 2 is not one of 2 processes"),
        ({"LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "99999"}, "environment: LOCAL_RANK: 0 is not one of 99999"),
        (
            {"SLURM_LOCALID": "0", "SLURM_STEP_TASKS_PER_NODE": "4(y2)"},
            'environment: SLURM_STEP_TASKS_PER_NODE: "4(y2)" is not a number of tasks',
        ),
    ],
)
def test_a_rank_that_makes_no_sense_is_refused(environment: dict[str, str], text: str) -> None:
    with pytest.raises(InputError) as refused:
        find_member(environment)
    assert str(refused.value).startswith(text)


def test_a_lease_says_what_the_job_may_use() -> None:
    environment = LEASE | {"NUMAFIT_DEVICES": "nvidia.com/gpu=GPU-b,GPU-a;example.com/nic=nic0"}
    assert find_resources(environment, MACHINE, ALLOWED) == JobResources(
        0b1111, 0b11, (("GPU-b", 1), ("GPU-a", 0)), "x", ()
    )


def test_gpus_are_counted_as_frameworks_see_them() -> None:
    """In the order of CUDA_VISIBLE_DEVICES, by UUID or number, if that names the lease's GPUs."""
    environment = LEASE | {"NUMAFIT_DEVICES": "nvidia.com/gpu=GPU-b,GPU-a"}
    for visible in ("GPU-a,GPU-b", "0,1"):
        facts = find_resources(environment | {"CUDA_VISIBLE_DEVICES": visible}, MACHINE, ALLOWED)
        assert facts.gpus == (("GPU-a", 0), ("GPU-b", 1))
    facts = find_resources(environment | {"CUDA_VISIBLE_DEVICES": "GPU-a,GPU-z"}, MACHINE, ALLOWED)
    assert facts.gpus == (("GPU-b", 1), ("GPU-a", 0))


def test_a_slice_hangs_where_its_gpu_hangs() -> None:
    environment = LEASE | {"NUMAFIT_DEVICES": "nvidia.com/mig-1g.10gb=MIG-c"}
    assert find_resources(environment, MACHINE, ALLOWED).gpus == (("MIG-c", 1),)


def test_a_gpu_that_is_not_found_has_no_node() -> None:
    environment = LEASE | {"NUMAFIT_DEVICES": "nvidia.com/gpu=GPU-gone"}
    assert find_resources(environment, MACHINE, ALLOWED).gpus == (("GPU-gone", None),)


def test_cpus_that_the_lease_lost_are_told() -> None:
    """Shared CPUs come and go; the process cannot leave its cpuset."""
    facts = find_resources(LEASE, MACHINE, Target(0b11, 0b1))
    assert (facts.cpus, facts.mems) == (0b11, 0b1)
    assert facts.notes == ("the CPUs 2-3 of the lease are not allowed to this process any more",)
    assert find_resources(LEASE, MACHINE, Target(0xF0, 0b1)).cpus == 0xF0


def test_without_a_lease_all_that_is_allowed_is_shared_out_and_that_is_said() -> None:
    """GPUs by PCI address; the memory of a GPU is not for programs."""
    facts = find_resources({}, MACHINE, ALLOWED)
    assert facts == JobResources(
        0xFF,
        0b11,
        (("GPU-a", 0), ("GPU-b", 1)),
        "",
        ("there is no lease: the CPUs 0-7 are not held against other jobs",),
    )


def test_a_single_visible_gpu_says_nothing_about_the_job() -> None:
    """Slurm can show each process only its own, under the same number."""
    assert len(find_resources({"CUDA_VISIBLE_DEVICES": "0"}, MACHINE, ALLOWED).gpus) == 2
    assert find_resources({"CUDA_VISIBLE_DEVICES": "1,0"}, MACHINE, ALLOWED).gpus == (("GPU-b", 1), ("GPU-a", 0))


@pytest.mark.parametrize(("name", "value"), [("NUMAFIT_CPUS", "x"), ("NUMAFIT_DEVICES", "x")])
def test_variables_of_a_lease_that_were_changed_are_refused(name: str, value: str) -> None:
    with pytest.raises(InputError, match="NUMAFIT_"):
        find_resources(LEASE | {name: value}, MACHINE, ALLOWED)


def test_a_lease_of_another_host_means_nothing_here() -> None:
    """A launcher of several hosts carries the variables along."""
    facts = find_resources({**LEASE, "NUMAFIT_HOST": "one"}, MACHINE, ALLOWED, "two")
    assert (facts.cpus, facts.lease) == (0xFF, "")
    assert facts.notes == (
        "the lease x is of the host one, and here there is none: the CPUs 0-7 are not held against other jobs",
    )
    assert find_resources({**LEASE, "NUMAFIT_HOST": "one"}, MACHINE, ALLOWED, "one").lease == "x"


SHARES = {"NUMAFIT_DEVICES": "nvidia.com/gpu=GPU-b,GPU-a", "NUMAFIT_SHARES": "2-3@1@GPU-b;0-1@0@GPU-a"}


def test_a_process_takes_the_part_that_the_lease_was_placed_with() -> None:
    facts = find_resources({**LEASE, **SHARES}, MACHINE, ALLOWED)
    found, notes = shares_of(MACHINE, facts, 2)
    told = [(share.gpu, share.gpu_node, share.cpus, share.memory_node, share.nic) for share in found]
    assert told == [("GPU-b", 1, 0b1100, 1, ""), ("GPU-a", 0, 0b0011, 0, "nic0")]
    assert notes == ()


def test_a_process_whose_memory_spilled_asks_its_own_node_first() -> None:
    """And not the one with the lowest number."""
    told = {**SHARES, "NUMAFIT_SHARES": "2-3@1,0@GPU-b;0-1@0-1@GPU-a"}
    found, _ = shares_of(MACHINE, find_resources({**LEASE, **told}, MACHINE, ALLOWED), 2)
    assert [share.memory_node for share in found] == [1, 0]


def test_another_number_of_processes_shares_the_lease_out_anew_and_says_so() -> None:
    facts = find_resources({**LEASE, **SHARES}, MACHINE, ALLOWED)
    found, notes = shares_of(MACHINE, facts, 4)
    assert sorted(share.cpus for share in found) == [1, 2, 4, 8]
    assert notes == ("the lease was placed for --ranks 2, and there are 4: its CPUs are shared out anew",)


def test_parts_on_cpus_that_are_not_allowed_any_more_are_given_up() -> None:
    facts = find_resources({**LEASE, **SHARES}, MACHINE, Target(0b0111, 0b11))
    assert (facts.cpus, facts.shares) == (0b0111, ())


def test_devices_that_are_no_gpus_count_where_there_are_no_others() -> None:
    """Those of the host file have no kind, only a NUMA node."""
    machine = Machine(numa_nodes=MACHINE.numa_nodes, devices=(Device("example.com/npu", "npu0", (1,)),))
    facts = find_resources({**LEASE, "NUMAFIT_DEVICES": "example.com/npu=npu0"}, machine, ALLOWED)
    assert facts.gpus == (("npu0", 1),)
