import pytest

from numafit.quantity import parse_quantity
from numafit.workload.api_server import (
    is_extended,
    is_extended_name,
    label_problem,
    pod_level_problem,
    resources_problem,
    subdomain_problem,
)
from numafit.workload.pod import Container, Pod, PodResources, Resources

Texts = dict[str, str]


def amounts(texts: Texts) -> Resources:
    return {name: parse_quantity(text) for name, text in texts.items()}


@pytest.mark.parametrize(
    ("requests", "limits", "path", "message"),
    [
        (
            {"cpu": "2"},
            {"cpu": "1"},
            ("requests", "cpu"),
            'Invalid value: "2": must be less than or equal to cpu limit of 1',
        ),
        ({"cpu": "-1"}, {}, ("requests", "cpu"), 'Invalid value: "-1": must be greater than or equal to 0'),
        ({}, {"a.b/c": "500m"}, ("limits", "a.b/c"), 'Invalid value: "500m": must be an integer'),
        (
            {"a.b/c": "1"},
            {"a.b/c": "2"},
            ("requests", "a.b/c"),
            'Invalid value: "1": must be equal to a.b/c limit of 2',
        ),
        ({"a.b/c": "1"}, {}, ("limits",), "Required value: Limit must be set for non overcommitable resources"),
        (
            {"cpu": "1", "hugepages-2Mi": "2Mi"},
            {"hugepages-2Mi": "4Mi"},
            ("requests", "hugepages-2Mi"),
            'Invalid value: "2Mi": must be equal to hugepages-2Mi limit of 4Mi',
        ),
        ({}, {"hugepages-2Mi": "2Mi"}, (), "Forbidden: HugePages require cpu or memory"),
        (
            {},
            {"cpu": "1", "hugepages-2Mi": "3Mi"},
            ("limits", "hugepages-2Mi"),
            'Invalid value: "3Mi": 3Mi is not positive integer multiple of hugepages-2Mi',
        ),
        ({}, {"cpus": "1"}, ("limits", "cpus"), 'Invalid value: "cpus": must be a standard resource for containers'),
        (
            {},
            {"requests.b/c": "1"},
            ("limits", "requests.b/c"),
            'Invalid value: "requests.b/c": doesn\'t follow extended resource name standard',
        ),
        ({}, {"a b": "1"}, ("limits", "a b"), 'Invalid value: "a b": is not the name of a resource'),
    ],
)
def test_refuses_in_the_words_of_the_api_server(
    requests: Texts, limits: Texts, path: tuple[str, ...], message: str
) -> None:
    problem = resources_problem(amounts(requests), amounts(limits))
    assert problem is not None
    assert (problem.path, problem.message) == (path, message)


@pytest.mark.parametrize(
    ("requests", "limits"),
    [
        ({}, {}),
        ({"cpu": "1"}, {"cpu": "1000m"}),
        ({"cpu": "1", "ephemeral-storage": "1Gi"}, {"cpu": "2"}),
        ({"a.b/c": "0", "cpu": "1"}, {"a.b/c": "0"}),
        ({"memory": "1Gi", "hugepages-1Gi": "2Gi"}, {"memory": "1Gi", "hugepages-1Gi": "2048Mi"}),
    ],
)
def test_lets_sound_resources_pass(requests: Texts, limits: Texts) -> None:
    assert resources_problem(amounts(requests), amounts(limits)) is None


def test_knows_pod_level_resources_of_three_kinds() -> None:
    """Devices cannot be asked for by a pod as a whole."""
    device = amounts({"a.b/c": "1"})
    problem = resources_problem(device, device, of_pod=True)
    assert problem is not None
    assert problem.message == 'Unsupported value: "a.b/c": supported values: "cpu", "hugepages-", "memory"'


@pytest.mark.parametrize(
    ("own", "path", "message"),
    [
        (
            PodResources(amounts({"cpu": "1"})),
            ("resources", "requests", "cpu"),
            'Invalid value: "1": must be greater than or equal to aggregate container requests of 4',
        ),
        (
            PodResources({}, amounts({"hugepages-2Mi": "2Mi"})),
            ("resources", "limits", "hugepages-2Mi"),
            'Invalid value: "2Mi": must be greater than or equal to aggregate container limits of 8Mi',
        ),
        (
            PodResources({}, amounts({"cpu": "1"})),
            ("containers", 0, "resources", "limits", "cpu"),
            'Invalid value: "2": must be less than or equal to pod limits of 1',
        ),
    ],
)
def test_finds_contradictions_between_pod_and_containers(
    own: PodResources, path: tuple[str | int, ...], message: str
) -> None:
    both = amounts({"cpu": "2", "hugepages-2Mi": "4Mi"})
    containers = (Container("a", both, both), Container("b", both, both))
    problem = pod_level_problem(Pod(uid="u", name="p", containers=containers, resources=own))
    assert problem is not None
    assert (problem.path, problem.message) == (path, message)


def test_knows_devices_from_resources_of_kubernetes() -> None:
    names = ("nvidia.com/gpu", "cpu", "kubernetes.io/x", "a.kubernetes.io/x", "requests.nvidia.com/gpu")
    assert [is_extended(name) for name in names] == [True, False, False, False, False]


def test_wants_dns_names() -> None:
    assert (label_problem("my-app"), subdomain_problem("my.app")) == ("", "")
    assert label_problem("my.app").startswith('Invalid value: "my.app": a lowercase RFC 1123 label must consist of')
    assert "no more than 63" in label_problem("a" * 64)
    assert "RFC 1123 subdomain" in subdomain_problem("My.app")
    assert "no more than 253" in subdomain_problem("a" * 254)


def test_the_name_of_a_device_leaves_room_for_the_prefix_of_a_quota() -> None:
    """`requests.` stands before it in a quota, and the part before the slash has at most 253 characters then."""
    prefix = ".".join(["x" * 60] * 4)
    assert is_extended_name("example.com/fpga")
    assert is_extended_name(f"{prefix}/fpga")
    assert not is_extended_name(f"y.{prefix}/fpga")
    assert [is_extended_name(name) for name in ("cpu", "example.com/", "example.com/a b", "kubernetes.io/x")] == [
        False
    ] * 4
