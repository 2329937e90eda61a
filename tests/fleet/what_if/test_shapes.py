"""Pods that ask for something else."""

from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.what_if.shapes import at_most_per_gpu, guaranteed, one_gpu_fewer, reshaped, whole_cpus
from numafit.quantity import parse_quantity
from numafit.workload.pod import Container, Pod

GPU = "nvidia.com/gpu"


def box(**amounts: str) -> Container:
    own = {GPU if name == "gpu" else name: parse_quantity(text) for name, text in amounts.items()}
    return Container("main", own, own)


def test_whole_cpus_are_rounded_up() -> None:
    assert whole_cpus(box(cpu="1500m", memory="1Gi")) == box(cpu="2", memory="1Gi")
    whole = box(cpu="2", memory="1Gi")
    assert whole_cpus(whole) is whole


def test_who_has_several_gpus_gets_one_fewer() -> None:
    """One stays one, and other devices are none of its business."""
    assert one_gpu_fewer(box(cpu="4", gpu="4")) == box(cpu="4", gpu="3")
    one = box(cpu="4", gpu="1", **{"example.com/nic": "2"})
    assert one_gpu_fewer(one) is one


def test_cpus_for_each_gpu_are_at_most_so_many() -> None:
    capped = at_most_per_gpu(8)
    assert capped(box(cpu="40", gpu="2")) == box(cpu="16", gpu="2")
    few, none = box(cpu="3", gpu="2"), box(cpu="40")
    assert capped(few) is few
    assert capped(none) is none


def test_limits_become_those_of_a_guaranteed_pod() -> None:
    cpu, memory = parse_quantity("2"), parse_quantity("1Gi")
    burstable = Container("main", {"cpu": cpu}, {"memory": memory})
    both = {"cpu": cpu, "memory": memory}
    assert guaranteed(burstable) == Container("main", both, both)
    assert guaranteed(guaranteed(burstable)) == guaranteed(burstable)


def test_a_pod_that_is_not_changed_stays_the_same_value() -> None:
    odd, even = box(cpu="1500m"), box(cpu="2")
    pods = [
        TracePod(float(number), None, Pod(f"p{number}", "p", (own,))) for number, own in enumerate((odd, even, odd))
    ]
    found = reshaped(pods, whole_cpus)
    assert [str(own.pod.containers[0].requests["cpu"]) for own in found] == ["2", "2", "2"]
    assert found[1].pod is pods[1].pod
    assert found[0].pod.containers[0] is found[2].pod.containers[0]
    assert [own.arrival for own in found] == [0.0, 1.0, 2.0]
