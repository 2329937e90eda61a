import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.quantity import parse_quantity
from numafit.workload.pod import Container, Pod, PodResources, Resources, container_limits, integral, pod_requests


def amounts(**texts: str) -> Resources:
    return {name: parse_quantity(text) for name, text in texts.items()}


def container(cpu: str, *, restartable: bool = False) -> Container:
    return Container("c", amounts(cpu=cpu), amounts(cpu=cpu), restartable)


def pod(*containers: Container, init: tuple[Container, ...] = (), overhead: Resources | None = None) -> Pod:
    return Pod(uid="u", name="p", containers=containers, init_containers=init, overhead=overhead or {})


@pytest.mark.parametrize(
    ("text", "number"),
    [("2", 2), ("2000m", 2), ("2.0", 2), ("1k", 1000), ("1500m", 0), ("0.5", 0), ("0", 0), ("1.5Gi", 3 << 29)],
)
def test_counts_whole_numbers_only(text: str, number: int) -> None:
    """The kubelet's test for exclusive CPUs: ceil(value) * 1000 == ceil(milli)."""
    assert integral(parse_quantity(text)) == number


@pytest.mark.parametrize(
    ("init", "sidecars", "total"),
    [
        ((), True, "3"),
        ((container("5"),), True, "5"),
        ((container("2"), container("1")), True, "3"),
        ((container("2", restartable=True),), True, "5"),
        ((container("2", restartable=True), container("4")), True, "6"),
        ((container("4"), container("2", restartable=True)), True, "5"),
        ((container("2", restartable=True),), False, "3"),
        ((container("2", restartable=True), container("4")), False, "4"),
    ],
)
def test_takes_the_larger_of_apps_and_init_peak(init: tuple[Container, ...], sidecars: bool, total: str) -> None:
    """A sidecar runs beside what starts after it; managers before 1.29 take it for any other init container."""
    wanted = pod(container("1"), container("2"), init=init)
    assert pod_requests(wanted, sidecars=sidecars) == amounts(cpu=total)
    assert container_limits(wanted, sidecars=sidecars) == amounts(cpu=total)


def test_adds_overhead_to_all_requests() -> None:
    limited = Container("c", amounts(cpu="1", memory="1Gi"), amounts(cpu="1", memory="0"))
    wanted = pod(limited, overhead=amounts(cpu="100m", memory="1Mi", pods="1"))
    assert pod_requests(wanted, sidecars=True) == amounts(cpu="1100m", memory="1025Mi", pods="1")
    assert pod_requests(wanted, sidecars=True, overhead=False) == amounts(cpu="1", memory="1Gi")


def test_replaces_by_pod_level_resources_what_can_be_given_there() -> None:
    """cpu, memory and huge pages, with the gate PodLevelResources only."""
    own = {**amounts(cpu="8"), "example.com/a": parse_quantity("9")}
    wanted = Pod(uid="u", name="p", containers=(container("1"),), resources=PodResources(own, own))
    assert pod_requests(wanted, sidecars=True, pod_level=True) == amounts(cpu="8")
    assert pod_requests(wanted, sidecars=True) == amounts(cpu="1")


CONTAINERS = st.lists(
    st.builds(container, st.integers(0, 9).map(str), restartable=st.booleans()), min_size=1, max_size=4
).map(tuple)


@given(CONTAINERS, CONTAINERS)
def test_never_asks_for_less_than_any_moment_needs(apps: tuple[Container, ...], init: tuple[Container, ...]) -> None:
    wanted = pod(*apps, init=init)
    total = pod_requests(wanted, sidecars=True)["cpu"].value()
    sidecars = [c.requests["cpu"].value() if c.restartable else 0 for c in init]
    moments = [c.requests["cpu"].value() + sum(sidecars[:i]) for i, c in enumerate(init)]
    moments.append(sum(c.requests["cpu"].value() for c in apps) + sum(sidecars))
    assert total == max(moments)
