"""Where kinds of others have their pods, how many, and how those are called."""

import json
from typing import Any

import pytest

from numafit.errors import InputError
from numafit.workload.reading import Reading, read_pods

Object = dict[str, Any]


def template(cpu: str = "1") -> Object:
    return {"spec": {"containers": [{"name": "app", "resources": {"limits": {"cpu": cpu, "memory": "1Gi"}}}]}}


def read(api: str, kind: str, **spec: Any) -> Reading:
    return read_pods(json.dumps({"apiVersion": api, "kind": kind, "metadata": {"name": "x"}, "spec": spec}))


def doubts(reading: Reading) -> list[tuple[str, str, str]]:
    return [(unread.code, pod.name, unread.text) for pod in reading.pods for unread in pod.unread]


def cpus(reading: Reading) -> dict[str, str]:
    """Pod -> what its container asks for, which tells the template."""
    return {pod.name: str(pod.containers[0].requests["cpu"]) for pod in reading.coming}


def training(**roles: int) -> Object:
    return {role: {"replicas": count, "template": template(str(len(role)))} for role, count in roles.items()}


RAY = {
    "headGroupSpec": {"template": template("2")},
    "workerGroupSpecs": [
        {"groupName": "gpu", "replicas": 2, "numOfHosts": 2, "template": template("8")},
        {"groupName": "more", "replicas": 0, "minReplicas": 1, "template": template("4")},
        {"groupName": "none", "template": template("4")},
    ],
}
RAY_PODS = {"x-head": "2", **{f"x-gpu-worker-{i}": "8" for i in range(4)}, "x-more-worker-0": "4"}


@pytest.mark.parametrize(
    ("api", "kind", "spec", "pods"),
    [
        (
            "jobset.x-k8s.io/v1alpha2",
            "JobSet",
            {
                "replicatedJobs": [
                    {"name": "driver", "template": {"spec": {"template": template("2")}}},
                    {
                        "name": "workers",
                        "replicas": 2,
                        "template": {"spec": {"parallelism": 3, "completions": 2, "template": template("4")}},
                    },
                ]
            },
            {"x-driver-0-0": "2", **{f"x-workers-{job}-{pod}": "4" for job in range(2) for pod in range(2)}},
        ),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {
                "replicas": 2,
                "leaderWorkerTemplate": {
                    "size": 3,
                    "leaderTemplate": template("2"),
                    "workerTemplate": template("4"),
                },
            },
            {"x-0": "2", "x-1": "2", "x-0-1": "4", "x-0-2": "4", "x-1-1": "4", "x-1-2": "4"},
        ),
        (
            "leaderworkerset.x-k8s.io/v1",
            "LeaderWorkerSet",
            {"leaderWorkerTemplate": {"workerTemplate": template("4")}},
            {"x-0": "4"},
        ),
        (
            "kubeflow.org/v1",
            "PyTorchJob",
            {"pytorchReplicaSpecs": training(Master=1, Worker=2)},
            {"x-master-0": "6", "x-worker-0": "6", "x-worker-1": "6"},
        ),
        ("kubeflow.org/v1", "TFJob", {"tfReplicaSpecs": training(PS=1)}, {"x-ps-0": "2"}),
        (
            "kubeflow.org/v2beta1",
            "MPIJob",
            {"mpiReplicaSpecs": training(Launcher=1, Worker=2)},
            {"x-launcher": "8", "x-worker-0": "6", "x-worker-1": "6"},
        ),
        ("ray.io/v1", "RayCluster", RAY, RAY_PODS),
        ("ray.io/v1", "RayJob", {"rayClusterSpec": RAY}, RAY_PODS),
        ("ray.io/v1", "RayService", {"rayClusterConfig": RAY}, RAY_PODS),
        ("argoproj.io/v1alpha1", "Rollout", {"replicas": 2, "template": template()}, {"x-0": "1", "x-1": "1"}),
        ("apps.kruise.io/v1alpha1", "CloneSet", {"template": template()}, {"x-0": "1"}),
        ("apps.kruise.io/v1beta1", "StatefulSet", {"replicas": 2, "template": template()}, {"x-0": "1", "x-1": "1"}),
        ("apps.kruise.io/v1alpha1", "DaemonSet", {"template": template()}, {"x-0": "1"}),
        (
            "batch.volcano.sh/v1alpha1",
            "Job",
            {"tasks": [{"name": "ps", "replicas": 2, "template": template("2")}]},
            {"x-ps-0": "2", "x-ps-1": "2"},
        ),
        (
            "serving.knative.dev/v1",
            "Service",
            {
                "template": {
                    "metadata": {"annotations": {"autoscaling.knative.dev/min-scale": "2"}},
                    "spec": {
                        "containerConcurrency": 10,
                        "containers": [{"image": "i", "resources": {"limits": {"cpu": "1"}}}],
                    },
                }
            },
            {"x-0": "1", "x-1": "1"},
        ),
    ],
)
def test_pods_are_called_as_their_controller_calls_them(api: str, kind: str, spec: Object, pods: Object) -> None:
    """As far as a name is not by chance: what controllers append to it is left away."""
    assert cpus(read(api, kind, **spec)) == pods


@pytest.mark.parametrize(
    ("spec", "codes"),
    [
        ({"headGroupSpec": {"template": template()}}, []),
        ({"headGroupSpec": {"template": template()}, "enableInTreeAutoscaling": True}, ["containers-added"]),
    ],
)
def test_what_a_controller_adds_is_noted(spec: Object, codes: list[str]) -> None:
    assert [code for code, _, _ in doubts(read("ray.io/v1", "RayCluster", **spec))] == codes


def test_a_knative_service_scales_by_its_load() -> None:
    reading = read("serving.knative.dev/v1", "Service", template=template())
    assert [code for code, _, _ in doubts(reading)] == ["count-guessed", "containers-added"]


def test_a_pod_template_in_any_kind_is_found() -> None:
    """Several are told apart by their way in the object; the number that stands nearest counts, and is noted."""
    reading = read(
        "x.io/v1",
        "Thing",
        replicas=2,
        template=template("1"),
        parts=[{"instances": 1, "podTemplate": template("2")}, {"deep": {"template": template("3")}}],
    )
    assert cpus(reading) == {
        "x-0": "1",
        "x-1": "1",
        "x-parts-0-podtemplate-0": "2",
        "x-parts-1-deep-0": "3",
        "x-parts-1-deep-1": "3",
    }
    known = "numafit does not know this kind"
    far, near = "spec.replicas", "spec.parts[0].instances"
    assert [text for _, _, text in doubts(reading)] == [
        f"{known}; {field} is taken for the number of its pods" for field in (far, far, near, far, far)
    ]


def test_one_pod_is_played_of_a_template_without_a_number() -> None:
    reading = read("x.io/v1", "Thing", template=template())
    assert (list(cpus(reading)), [code for code, _, _ in doubts(reading)]) == (["x-0"], ["count-guessed"])


def test_what_only_looks_like_a_template_is_noted() -> None:
    """A policy holds patterns of pods."""
    pattern = {"spec": {"containers": [{"(name)": "*"}]}}
    other = {"kind": "Pod", "metadata": {"name": "a"}, "spec": template()["spec"]}
    policy = {"apiVersion": "kyverno.io/v1", "kind": "ClusterPolicy", "metadata": {"name": "p"}}
    rule = {"mutate": {"patchStrategicMerge": {"spec": {"template": pattern}}}}
    reading = read_pods(json.dumps({"kind": "List", "items": [policy | {"spec": {"rules": [rule]}}, other]}))
    assert [pod.name for pod in reading.coming] == ["a"]
    assert [(note.code, note.about) for note in reading.notes] == [("kind-skipped", "ClusterPolicy default/p")]


def test_a_mistake_in_a_known_kind_is_an_error_with_its_place() -> None:
    wrong = {"spec": {"containers": [{"name": "app", "resources": {"limit": {}}}]}}
    with pytest.raises(InputError, match=r'pytorchReplicaSpecs.Master.template.spec.*unknown field "limit"'):
        read("kubeflow.org/v1", "PyTorchJob", pytorchReplicaSpecs={"Master": {"template": wrong}})


def test_a_rollout_that_points_at_a_deployment_makes_no_pods_of_its_own() -> None:
    with pytest.raises(InputError, match="there is no pod in this file, only 1 Rollout"):
        read("argoproj.io/v1alpha1", "Rollout", workloadRef={"kind": "Deployment", "name": "x"})
