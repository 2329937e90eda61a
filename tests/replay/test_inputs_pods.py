from numafit.quantity import parse_quantity
from numafit.workload.pod import Container, Pod, PodResources
from tests.replay.pods import pod_from_recording


def test_reads_all_that_a_recording_says_of_a_pod() -> None:
    one = {"cpu": parse_quantity("1")}
    recorded: dict[str, object] = {
        "uid": "u",
        "name": "p",
        "containers": [{"name": "app", "requests": {"cpu": "1"}, "limits": {"cpu": "1"}}],
        "initContainers": [{"name": "side", "requests": None, "limits": {}, "restartPolicy": "Always"}],
        "resources": {"requests": {"cpu": "1"}, "limits": None},
    }
    assert pod_from_recording(recorded) == Pod(
        uid="u",
        name="p",
        containers=(Container("app", one, one),),
        init_containers=(Container("side", restartable=True),),
        resources=PodResources(one, {}),
    )


def test_keeps_a_quantity_as_it_is_written() -> None:
    """No second defaulting: 1000m is not an int64 for the memory manager, while 1 is."""
    recorded: dict[str, object] = {
        "uid": "u",
        "name": "p",
        "containers": [{"name": "app", "requests": {"memory": "1000m"}, "limits": {}}],
    }
    assert pod_from_recording(recorded).containers[0].requests["memory"].as_int64() is None
