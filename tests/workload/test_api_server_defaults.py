import pytest

from numafit.quantity import parse_quantity
from numafit.workload.api_server import defaulted, stored
from numafit.workload.pod import Container, Pod, PodResources, Resources


def amounts(**texts: str) -> Resources:
    return {name.replace("_", "-"): parse_quantity(text) for name, text in texts.items()}


def pod(container: Container, resources: PodResources | None = None) -> Pod:
    return Pod(uid="u", name="p", containers=(container,), resources=resources)


@pytest.mark.parametrize(
    ("text", "printed", "int64"),
    [
        ("1.5Gi", "1536Mi", 3 << 29),
        ("100u", "1m", None),
        ("2000m", "2", 2),
        ("1.500", "1.500", None),
        ("0.5", "500m", None),
    ],
)
def test_brings_quantities_back_in_canonical_form(text: str, printed: str, int64: int | None) -> None:
    """Rounded up to thousandths and through their text: 1.5Gi becomes an int64 that way."""
    quantity = stored(parse_quantity(text))
    assert (str(quantity), quantity.as_int64()) == (printed, int64)


def test_makes_requests_of_limits_that_have_none() -> None:
    container = Container("c", amounts(cpu="1"), amounts(cpu="2", memory="1Gi"))
    expected = Container("c", amounts(cpu="1", memory="1Gi"), amounts(cpu="2", memory="1Gi"))
    assert defaulted(pod(container)) == pod(expected)


def test_leaves_requests_without_limits_alone() -> None:
    container = Container("c", amounts(cpu="1"))
    assert defaulted(pod(container)) == pod(container)


@pytest.mark.parametrize(
    ("own", "expected"),
    [
        (PodResources(), PodResources()),
        (
            PodResources(amounts(cpu="4")),
            PodResources(amounts(cpu="4", hugepages_2Mi="2Mi"), amounts(hugepages_2Mi="2Mi")),
        ),
        (
            PodResources({}, amounts(cpu="4", memory="8Gi")),
            PodResources(
                amounts(cpu="1", memory="8Gi", hugepages_2Mi="2Mi"), amounts(cpu="4", memory="8Gi", hugepages_2Mi="2Mi")
            ),
        ),
        (
            PodResources(amounts(hugepages_2Mi="4Mi"), amounts(cpu="4")),
            PodResources(amounts(cpu="1", hugepages_2Mi="4Mi"), amounts(cpu="4")),
        ),
    ],
)
def test_fills_pod_level_resources_from_containers_first(own: PodResources, expected: PodResources) -> None:
    """Huge page limits from containers, then cpu and memory requests from them, then requests from limits (1.34)."""
    pages = Container("c", amounts(cpu="1", hugepages_2Mi="2Mi"), amounts(hugepages_2Mi="2Mi"))
    assert defaulted(pod(pages, own)).resources == expected
