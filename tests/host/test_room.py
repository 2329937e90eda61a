"""Where a job goes when claims and reality differ."""

from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.host.book.book import Book
from numafit.host.grant import granted
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.place import Placed
from numafit.host.request import JobRequest
from numafit.host.this_machine import looked_at
from numafit.host.usage import MemoryUsage, Usage
from tests.host.ledgers import host_named, taken

GIB = 1 << 30
GPU = "nvidia.com/gpu"
FREE = MemoryUsage(200 * GIB, 20 * GIB)


def box(*nodes: MemoryUsage, gpus: dict[str, int] | None = None) -> Host:
    """Two NUMA nodes of 256 GiB and four GPUs each."""
    host = host_named("gpu8-128cpu")
    assert [node.memory for node in host.machine.numa_nodes] == [256 * GIB] * 2
    return replace(host, usage=Usage(dict(enumerate(nodes)), gpus or {}))


def placed(host: Host, request: JobRequest, leases: tuple[Lease, ...] = ()) -> Placed:
    found = granted(host, leases, request)
    assert isinstance(found, Placed), found
    return found


def test_where_all_is_free_the_claims_decide_and_nothing_is_said() -> None:
    request = JobRequest(cpus=2, memory=8 * GIB, devices={GPU: 1})
    assert placed(box(FREE, FREE), request) == placed(replace(box(), usage=None), request)


def test_memory_goes_where_it_really_is() -> None:
    """The cache of files counts as free for who is bound: the kernel gives it up."""
    host = box(MemoryUsage(1 * GIB, 2 * GIB), MemoryUsage(0, 50 * GIB))
    found = placed(host, JobRequest(cpus=2, memory=8 * GIB))
    assert (found.nodes, found.mems, found.bind) == (0b10, 0b10, "bind")
    assert found.remarks == ("8Gi on node 0 are free by the claims, and really 3Gi: the job goes to node 1",)


def test_memory_that_is_nowhere_is_preferred_and_not_bound() -> None:
    """Bound, the job would be ended by the first page that is not there."""
    host = box(MemoryUsage(GIB), MemoryUsage(GIB))
    found = placed(host, JobRequest(cpus=2, memory=8 * GIB))
    assert (found.nodes, found.bind) == (0b1, "prefer")
    assert found.remarks == (
        "8Gi on node 0 are free by the claims, and really 1Gi: its memory is preferred there, not bound",
    )
    assert placed(host, JobRequest(cpus=2, memory=8 * GIB, bind="bind")).bind == "bind"


def test_a_job_that_needs_its_node_stays_there() -> None:
    """Memory on another node than the GPU would be worse."""
    gone = Lease("other", "", 0, "", 0.0, devices={GPU: ("GPU4", "GPU5", "GPU6", "GPU7")})
    host = box(MemoryUsage(GIB), FREE)
    found = placed(host, JobRequest(cpus=2, memory=8 * GIB, devices={GPU: 1}), (gone,))
    assert (found.nodes, found.bind, len(found.remarks)) == (0b1, "prefer", 1)


def test_a_job_that_tells_no_memory_avoids_a_full_node() -> None:
    """Full of files as well: the kernel takes memory of another node before it gives them up."""
    found = placed(box(MemoryUsage(GIB, 200 * GIB), FREE), JobRequest(cpus=2))
    assert (found.nodes, found.mems) == (0b10, 0b10)
    assert found.remarks == ("node 0 is nearly full (1Gi of 256Gi are really free): the job goes to node 1",)


@pytest.mark.parametrize("request_", [JobRequest(cpus=2), JobRequest(), JobRequest(cpus=2, on_nodes=0b1)])
def test_where_nothing_better_is_to_be_had_nothing_is_said(request_: JobRequest) -> None:
    """After some days every machine is full of files."""
    full = MemoryUsage(GIB, 200 * GIB)
    host = box(full, FREE if request_.on_nodes else full)
    found = placed(host, request_)
    assert (found, found.remarks) == (placed(replace(host, usage=None), request_), ())


def test_a_gpu_that_a_stranger_uses_is_avoided() -> None:
    """Nobody holds it, but its memory is not free."""
    host = box(FREE, FREE, gpus={"GPU0": 12 * GIB, "GPU1": 300 << 20})
    found = placed(host, JobRequest(devices={GPU: 1}))
    assert found.devices == {GPU: ("GPU1",)}
    assert found.remarks == ("in use though nobody holds it: GPU0 (12Gi of its memory); the job gets GPU1",)


FULL = MemoryUsage(GIB)
ON_NODE_1 = {"GPU4": 12 * GIB}


def test_a_gpu_in_use_does_not_lead_back_to_a_full_node() -> None:
    """There the job would be bound to memory that is not there, and ended by the kernel."""
    found = placed(box(FULL, FREE, gpus=ON_NODE_1), JobRequest(cpus=2, memory=8 * GIB, devices={GPU: 1}))
    assert (found.nodes, found.mems, found.bind, found.devices) == (0b10, 0b10, "bind", {GPU: ("GPU5",)})
    assert found.remarks == ("8Gi on node 0 are free by the claims, and really 1Gi: the job goes to node 1",)


def test_where_only_the_full_node_has_an_idle_gpu_memory_is_preferred_there() -> None:
    """What is said is true of the place where the job goes in the end."""
    host = box(FULL, FREE, gpus={f"GPU{number}": 2 * GIB for number in range(1, 8)})
    found = placed(host, JobRequest(cpus=2, memory=8 * GIB, devices={GPU: 1}))
    assert (found.nodes, found.bind, found.devices) == (0b1, "prefer", {GPU: ("GPU0",)})
    assert found.remarks == (
        "8Gi on node 0 are free by the claims, and really 1Gi: its memory is preferred there, not bound",
    )


def test_memory_is_judged_again_where_an_idle_gpu_is() -> None:
    """The first place had memory and a GPU in use, the second one has an idle GPU and no memory."""
    host = box(FREE, FULL, gpus={f"GPU{number}": 2 * GIB for number in range(4)})
    found = placed(host, JobRequest(cpus=2, memory=8 * GIB, devices={GPU: 1}))
    assert (found.nodes, found.bind, found.devices) == (0b10, "prefer", {GPU: ("GPU4",)})
    assert found.remarks == (
        "8Gi on node 1 are free by the claims, and really 1Gi: its memory is preferred there, not bound",
        "in use though nobody holds it: GPU0 (2Gi of its memory); the job gets GPU4",
    )


def test_like_a_kubelet_means_exactly_so() -> None:
    """A kubelet knows nothing of what programs without a pod use, and of links what its device plugin tells it."""
    request = JobRequest(cpus=2, memory=8 * GIB, devices={GPU: 2}, like_kubelet=True)
    host = box(FULL, FREE, gpus={"GPU0": 12 * GIB})
    found = placed(host, request)
    assert (found.nodes, found.bind, found.devices, found.remarks) == (0b1, "bind", {GPU: ("GPU0", "GPU1")}, ())
    gone = Lease("other", "", 0, "", 0.0, devices={GPU: ("GPU0", "GPU2")})
    found = placed(host, request, (gone,))
    assert (found.devices, found.gpu_reason) == ({GPU: ("GPU1", "GPU3")}, "")
    found = placed(host, replace(request, like_kubelet=False), (gone,))
    assert (found.devices, found.gpu_reason) == ({GPU: ("GPU4", "GPU5")}, "NUMA 1; linked by PIX; score 50")


@pytest.mark.usefixtures("alone")
def test_what_differs_is_said_by_who_takes_the_lease(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Looked at when the lease is taken, which may be long after the command began to wait."""
    said: list[str] = []
    full = box(MemoryUsage(GIB), FREE)
    monkeypatch.setattr("numafit.host.book.book.looked_at", lambda *_: full)
    with Book.open(tmp_path, None, said.append) as book:
        lease = taken(book, replace(full, usage=None), JobRequest(cpus=2, memory=8 * GIB))
    assert (lease.nodes, lease.mems) == (0b10, 0b10)
    assert said == ["8Gi on node 0 are free by the claims, and really 1Gi: the job goes to node 1"]


def test_a_machine_that_is_not_this_one_is_not_looked_at() -> None:
    host = replace(box(), usage=None)
    assert looked_at(host, JobRequest(memory=1)) == host
    assert looked_at(replace(host, live=True), JobRequest()).usage is None
    usage = looked_at(replace(host_named("laptop"), live=True), JobRequest(memory=1)).usage
    assert usage is not None
    assert usage.nodes[0].free > 0


def test_where_all_gpus_are_in_use_it_is_told() -> None:
    host = box(FREE, FREE, gpus={f"GPU{number}": 2 * GIB for number in range(8)})
    found = placed(host, JobRequest(devices={GPU: 1}))
    assert found.devices == {GPU: ("GPU0",)}
    assert found.remarks == ("in use though nobody holds it: GPU0 (2Gi of its memory)",)
