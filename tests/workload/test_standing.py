from typing import Any

import pytest

from numafit.errors import InputError
from numafit.workload.objects import ManifestFile
from numafit.workload.pod import Pod
from numafit.workload.reading import read_files


def manifest(spec: str = "", metadata: str = "", kind: str = "Pod") -> str:
    return f"""
apiVersion: v1
kind: {kind}
metadata: {{name: web{metadata}}}
spec: {{containers: [{{name: app, image: web}}]{spec}}}
"""


GOLD = """
apiVersion: scheduling.k8s.io/v1
kind: PriorityClass
metadata: {name: gold}
value: 700
"""


def pod_of(*texts: str, static: bool = False) -> Pod:
    (pod,) = read_files([ManifestFile("", "---".join(texts), static)]).pods
    return pod


def standing(pod: Pod) -> tuple[Any, ...]:
    return pod.priority, pod.static, pod.critical


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ("", (None, False, False)),
        (", priority: 1999999999", (1_999_999_999, False, False)),
        (", priority: 2000000000", (2_000_000_000, False, True)),
        (", priority: -5", (-5, False, False)),
        (", priorityClassName: system-cluster-critical", (2_000_000_000, False, True)),
        (", priorityClassName: system-node-critical", (2_000_001_000, False, True)),
    ],
)
def test_a_pod_is_critical_by_its_priority(spec: str, expected: tuple[Any, ...]) -> None:
    """The two classes of the system are those of each cluster (1.20 to 1.37)."""
    assert standing(pod_of(manifest(spec))) == expected


def test_a_class_among_the_files_gives_its_number() -> None:
    assert pod_of(manifest(", priorityClassName: gold"), GOLD).priority == 700


def test_a_class_that_is_not_there_leaves_the_priority_unknown() -> None:
    pod = pod_of(manifest(", priorityClassName: gold"))
    assert (pod.priority, [unread.code for unread in pod.unread]) == (None, ["priority-unknown"])


def test_the_lowest_default_class_counts_for_a_pod_without_a_class() -> None:
    default = GOLD.replace("value", "globalDefault: true\nvalue")
    lower = default.replace("gold", "tin").replace("700", "7")
    assert pod_of(manifest(), default, lower).priority == 7


@pytest.mark.parametrize(
    ("annotation", "static"),
    [
        ("kubernetes.io/config.source: file", True),
        ("kubernetes.io/config.source: http", True),
        ("kubernetes.io/config.source: api", False),
        ("kubernetes.io/config.mirror: abc", True),
    ],
)
def test_annotations_of_the_kubelet_tell_a_static_pod(annotation: str, static: bool) -> None:
    pod = pod_of(manifest(metadata=f", annotations: {{{annotation}}}"))
    assert standing(pod) == (None, static, static)


@pytest.mark.parametrize(
    ("metadata", "static"),
    [
        (", uid: 83bbead207ebcd9db13b837e86898d62", True),
        (", uid: 2090e45e-a741-4e5d-9dfa-ae2c38f87be3", False),
        (", uid: 83bbead207ebcd9db13b837e86898d62, annotations: {kubernetes.io/config.source: api}", False),
    ],
)
def test_a_uid_made_from_a_manifest_tells_a_static_pod(metadata: str, static: bool) -> None:
    """Where no annotation does: the API server's UIDs have hyphens, those of a kubelet are sums of 32 digits."""
    assert standing(pod_of(manifest(metadata=metadata))) == (None, static, static)


def test_of_a_static_pod_the_kubelet_knows_the_number_and_not_the_class() -> None:
    pod = pod_of(manifest(", priorityClassName: system-node-critical"), static=True)
    assert standing(pod) == (None, True, True)
    assert "priority-unknown" not in [unread.code for unread in pod.unread]


def test_only_a_pod_can_be_static() -> None:
    text = manifest(kind="Deployment").replace("spec: ", "spec: {template: {spec: ") + "}}"
    text = text.replace("}\n}}", "}}}")
    with pytest.raises(InputError, match="a Deployment is no static pod"):
        pod_of(text, static=True)


def test_a_priority_is_a_number_of_32_bits() -> None:
    with pytest.raises(InputError, match="32 bits"):
        pod_of(manifest(", priority: 2147483648"))


@pytest.mark.parametrize(
    ("metadata", "node", "name"),
    [
        ("", "Node1", "web-node1"),
        ("", "", "web"),
        (", uid: given", "node1", "web-node1"),
        (', annotations: {kubernetes.io/config.mirror: "1"}', "node1", "web"),
        (", annotations: {kubernetes.io/config.source: file}", "node1", "web"),
    ],
)
def test_a_static_pod_is_called_after_its_node(metadata: str, node: str, name: str) -> None:
    """1.20 to 1.37, in small letters. A mirror pod, and what the kubelet itself tells of, is called so already."""
    (pod,) = read_files([ManifestFile("", manifest(metadata=metadata), static=True, node=node)]).pods
    assert (pod.name, pod.static) == (name, True)


def test_other_pods_are_not_called_after_their_node() -> None:
    (pod,) = read_files([ManifestFile("", manifest(), node="node1")]).pods
    assert pod.name == "web"
