"""Lint of pod manifests: what they will not get, and what they believe about their CPUs and devices."""

import pytest

from tests.advice.lint.lint_files import GOOD, HEAD, codes, container, findings, one, pod, variables
from tests.decision.strategies import GI, GPU, box, gpus

BOX = box(2, 16, 2, memory=16 * GI, devices=gpus(0, 0, 1, 1))
"""Two NUMA nodes with 8 cores of 2 threads, 16Gi and two GPUs each."""
SHM = [{"name": "shm", "mountPath": "/dev/shm"}]


def test_a_guaranteed_pod_of_whole_cpus_has_no_findings() -> None:
    assert findings(pod([container()])) == ()


def test_a_pod_that_is_burstable_by_a_hair_gets_no_exclusive_cpus() -> None:
    """Exclusive CPUs need QoS Guaranteed: requests equal to limits (all releases)."""
    text = pod([container(limits={"cpu": "32", "memory": "1Gi"}, requests={"cpu": "16", "memory": "1Gi"})])
    found = one("NF310", text)
    assert found.message == (
        'container "app" asks for 16 CPUs, but its limit is 32 CPUs where it requests 16: the pod is Burstable '
        "and gets no exclusive CPUs and no memory of its own"
    )
    assert found.cure == "make requests and limits equal: cpu 16, memory 1Gi"
    assert text.splitlines()[found.place.line - 1].strip() == '"cpu": "32",'


def test_one_container_without_limits_makes_the_whole_pod_burstable() -> None:
    found = one("NF311", pod([container(), container("logs", limits={})]))
    assert found.message == (
        'container "logs": it has no limit of cpu, so the whole pod is Burstable; '
        'that costs container "app" its 4 exclusive CPUs'
    )


def test_with_a_kubelet_that_has_no_static_policy_nobody_expects_exclusive_cpus() -> None:
    text = pod([container(requests={"cpu": "2", "memory": "1Gi"})])
    assert codes(text) == ["NF310"]
    assert codes(text, HEAD) == []


def test_a_fraction_of_a_cpu_keeps_a_container_in_the_shared_pool() -> None:
    assert one("NF312", pod([container(limits={"cpu": "2500m", "memory": "1Gi"})])).cure == "ask for 2 or 3"
    assert codes(pod([container(limits={"cpu": "500m", "memory": "1Gi"})])) == []


def test_devices_without_cpus_are_placed_alone() -> None:
    assert codes(pod([container(limits={GPU: "1"})])) == ["NF313"]


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("CUDA_VISIBLE_DEVICES", "0", "NF320"),
        ("CUDA_VISIBLE_DEVICES", "3", "NF320"),
        ("NVIDIA_VISIBLE_DEVICES", "all", "NF320"),
        ("NVIDIA_VISIBLE_DEVICES", "void", None),
        ("GOMP_CPU_AFFINITY", "0-31 64-95", "NF321"),
        ("OMP_PLACES", "cores", None),
        ("OMP_PLACES", "{0:4}", "NF321"),
        ("OMP_NUM_THREADS", "4", None),
        ("OMP_NUM_THREADS", "8", "NF322"),
        ("OMP_NUM_THREADS", "four", None),
    ],
)
def test_variables_are_held_against_what_the_managers_hand_out(name: str, value: str, code: str | None) -> None:
    limits = {"cpu": "4", "memory": "1Gi", GPU: "1"}
    found = codes(pod([container(limits=limits, env=variables(**{name: value}))]))
    assert found == ([code] if code else [])


def test_threads_count_once_per_process() -> None:
    """Four processes of 32 threads on 32 CPUs."""
    limits, env = {"cpu": "32", "memory": "1Gi"}, variables(OMP_NUM_THREADS="32")
    command = ["torchrun", "--nproc_per_node=4", "train.py"]
    found = one("NF322", pod([container(limits=limits, env=env, command=command)]))
    assert found.message == "4 processes with OMP_NUM_THREADS=32 each make 128 threads on 32 CPUs"
    assert found.cure == "set it to 8"
    assert codes(pod([container(limits=limits, env=env, args=["--nproc-per-node", "1"])])) == []


def test_a_command_that_binds_itself_is_found() -> None:
    assert codes(pod([container(command=["sh", "-c", "taskset -c 0-7 train"])])) == ["NF321"]
    assert codes(pod([container(command=["sh", "-c", "taskset -p $$; numactl --hardware"])])) == []


def test_several_gpus_need_shared_memory() -> None:
    """A container's own /dev/shm has 64 MiB."""
    limits = {"cpu": "4", "memory": "1Gi", GPU: "2"}
    assert codes(pod([container(limits=limits)])) == ["NF323"]
    assert codes(pod([container(limits=limits, volumeMounts=SHM)])) == []
    assert codes(pod([container(limits=limits)], hostIPC=True)) == []


def test_what_the_api_server_refuses_is_an_error_with_its_place() -> None:
    found = one("NF301", pod([container(limits={"cpu": "4", "memory": "1Gi", GPU: "1500m"})]))
    assert found.message.endswith('Invalid value: "1500m": must be an integer')
    assert found.place.line > 1


def test_five_gpus_on_a_box_of_two_and_two_cross() -> None:
    """single-numa-node rejects, in the engine's words. So does restricted since 1.24, where the CPUs prefer one node
    and the GPUs two; 1.23 admits."""
    limits = {"cpu": "4", "memory": "1Gi", GPU: "3"}
    text = pod([container(limits=limits, volumeMounts=SHM)])
    found = one("NF330", text, machine=BOX)
    assert "asks for 3 nvidia.com/gpu, but no NUMA node has more than 2 (node 0: 2, node 1: 2)" in found.message
    single = GOOD.replace("restricted", "single-numa-node")
    assert codes(text, single, machine=BOX) == ["NF332", "NF330"]
    assert "Resources cannot be allocated with Topology locality" in one("NF332", text, single, machine=BOX).message
    assert codes(text, GOOD, machine=BOX) == ["NF332", "NF330"]
    assert codes(text, GOOD, machine=BOX, version="1.23") == ["NF330"]
    assert codes(text, GOOD.replace("restricted", "best-effort"), machine=BOX) == ["NF330"]


def test_a_request_that_no_numa_node_holds_is_found() -> None:
    """One of 16 CPUs is reserved on node 0, so node 1 has the most."""
    found = one("NF331", pod([container(limits={"cpu": "17", "memory": "1Gi"})]), GOOD, machine=BOX)
    assert "no NUMA node has more than 16 to give (node 0: 15, node 1: 16)" in found.message
    assert codes(pod([container(limits={"cpu": "4", "memory": "20Gi"})]), machine=BOX) == ["NF331"]


def test_an_init_container_that_causes_the_rejection_is_blamed() -> None:
    init = [container("prepare", limits={"cpu": "17", "memory": "1Gi"})]
    single = GOOD.replace("restricted", "single-numa-node")
    found = codes(pod([container()], initContainers=init), single, machine=BOX)
    assert sorted(found) == ["NF331", "NF333", "NF334"]


def test_an_init_container_that_asks_for_more_than_all_others_decides() -> None:
    init = [container("prepare", limits={"cpu": "8", "memory": "1Gi"})]
    assert one("NF334", pod([container()], initContainers=init)).cure == "ask for 4 or fewer"


def test_what_an_init_container_asks_for_is_held_against_the_sidecars_after_it_too() -> None:
    """They take over its CPUs like the containers do; a sidecar before it has its own."""
    before = {**container("logs", limits={"cpu": "1", "memory": "1Gi"}), "restartPolicy": "Always"}
    prepare = container("prepare", limits={"cpu": "8", "memory": "1Gi"})
    after = {**container("proxy", limits={"cpu": "2", "memory": "1Gi"}), "restartPolicy": "Always"}
    found = one("NF334", pod([container()], initContainers=[before, prepare, after]))
    assert "asks for 8 exclusive CPUs, the containers and sidecars after it together for 6: " in found.message
    assert found.cure == "ask for 6 or fewer"


def test_a_sidecar_may_lie_apart_in_the_container_scope() -> None:
    """Each container is placed for itself there; older kubelets do not know sidecars at all."""
    text = pod([container()], initContainers=[{**container("proxy"), "restartPolicy": "Always"}])
    assert codes(text, GOOD) == ["NF334"]
    assert codes(text, GOOD + "topologyManagerScope: pod\n") == []
    assert codes(text, version="1.27") == ["NF335"]


def test_a_pod_without_a_kind_is_refused_and_still_looked_at() -> None:
    text = f"spec:\n  containers:\n  - name: a\n    resources: {{limits: {{{GPU}: 1}}}}\n"
    assert codes(text) == ["NF301", "NF313"]


def test_a_template_of_a_deployment_is_looked_at_with_its_places() -> None:
    text = (
        "apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: d}\nspec:\n  template:\n    spec:\n      containers:\n"
        "      - name: a\n        image: a\n        resources:\n          limits: {cpu: 2500m, memory: 1Gi}\n"
    )
    found = one("NF312", text)
    assert (found.place.line, found.place.column) == (11, 25)
