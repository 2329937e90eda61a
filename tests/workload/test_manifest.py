import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.quantity import parse_quantity
from numafit.workload.fields import CONTAINER, POD_SPEC, TEMPLATES
from numafit.workload.manifest import Workload, made_up_uid, read_workload
from numafit.workload.objects import FileObjects, ManifestFile
from numafit.workload.pod import Container, PodResources, Resources
from numafit.workload.reading import read_pods

DEPLOYMENT = """\
apiVersion: v1
kind: Service
metadata: {name: web}
---
apiVersion: apps/v1
kind: Deployment
metadata: {name: web, namespace: shop}
spec:
  replicas: 2
  template:
    spec:
      initContainers:
      - name: proxy
        restartPolicy: Always
        resources: {requests: {cpu: 100m}}
      containers:
      - name: app
        image: app
        resources:
          limits: {cpu: 4, memory: 8Gi, nvidia.com/gpu: 1}
"""


def amounts(texts: dict[str, str]) -> Resources:
    return {name: parse_quantity(text) for name, text in texts.items()}


def manifest(kind: str, **spec: object) -> str:
    container = {"name": "app", "resources": {"limits": {"cpu": "1", "memory": "1Gi"}}}
    template: dict[str, object] = {"spec": {"containers": [container]}}
    for step in reversed(TEMPLATES[kind]):
        template = {step: template}
    found = template.setdefault("spec", {})
    assert isinstance(found, dict)
    found.update(spec)
    return json.dumps({"kind": kind, "metadata": {"name": "x"}} | template)


def only(text: str, *, pod_level: bool = True) -> Workload:
    (part,) = FileObjects(ManifestFile("web.yaml", text)).makers
    (template,) = part.templates
    return read_workload(part.part, part.kind, template, pod_level=pod_level)


def test_makes_the_pods_of_a_deployment() -> None:
    """Objects without pods are passed over; requests are defaulted from limits."""
    workload = only(DEPLOYMENT)
    limits = amounts({"cpu": "4", "memory": "8Gi", "nvidia.com/gpu": "1"})
    pods = list(workload.pods())
    assert (workload.kind, workload.name, workload.namespace, workload.count) == ("Deployment", "web", "shop", 2)
    assert [(pod.name, pod.namespace, pod.uid) for pod in pods] == [
        (f"web-{i}", "shop", made_up_uid("shop", f"web-{i}")) for i in range(2)
    ]
    assert pods[0] == workload.pod
    assert pods[1].containers == (Container("app", limits, limits),)
    assert pods[1].init_containers == (Container("proxy", amounts({"cpu": "100m"}), {}, restartable=True),)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (manifest("Pod"), ["x"]),
        (manifest("Deployment"), ["x-0"]),
        (manifest("Deployment", replicas=0), []),
        (manifest("ReplicaSet", replicas=2), ["x-0", "x-1"]),
        (manifest("ReplicationController", replicas=2), ["x-0", "x-1"]),
        (manifest("StatefulSet", replicas=2, ordinals={"start": 5}), ["x-5", "x-6"]),
        (manifest("DaemonSet"), ["x-0"]),
        (manifest("PodTemplate"), ["x-0"]),
        (manifest("Job", parallelism=3), ["x-0", "x-1", "x-2"]),
        (manifest("Job", parallelism=3, completions=2), ["x-0", "x-1"]),
        (manifest("CronJob"), ["x-0"]),
    ],
)
def test_knows_how_many_pods_each_kind_makes(text: str, names: list[str]) -> None:
    assert [pod.name for pod in only(text).pods()] == names


def test_opens_lists_whose_items_leave_the_kind_out() -> None:
    """As `kubectl get pods -o json` and the API server's own lists have it."""
    item = {"metadata": {"name": "a"}, "spec": {"containers": [{"name": "c"}]}}
    other = item | {"metadata": {"name": "b"}}
    lists = {"kind": "List", "items": [{"kind": "PodList", "items": [item]}, {"kind": "Pod"} | other]}
    assert [pod.name for pod in read_pods(json.dumps(lists)).coming] == ["a", "b"]


def test_keeps_what_a_running_pod_says_of_itself() -> None:
    """uid, QoS class and the resources that the kubelet allocated at admission."""
    text = """
kind: Pod
metadata: {name: a, uid: 1-2-3}
spec:
  containers: [{name: c, resources: {requests: {cpu: 2}}}]
  overhead: {cpu: 250m}
status:
  qosClass: Burstable
  containerStatuses: [{name: c, allocatedResources: {cpu: "1"}}]
"""
    pod = only(text).pod
    assert (pod.uid, pod.status_qos, pod.overhead) == ("1-2-3", "Burstable", amounts({"cpu": "250m"}))
    assert pod.containers == (Container("c", amounts({"cpu": "2"}), {}, allocated=amounts({"cpu": "1"})),)


def test_drops_pod_level_resources_where_the_gate_is_off() -> None:
    """Before 1.34 the API server does not know `spec.resources`, unless the gate PodLevelResources is turned on."""
    text = "{kind: Pod, metadata: {name: a}, spec: {resources: {limits: {cpu: 2}}, containers: [{name: c}]}}"
    two = amounts({"cpu": "2"})
    assert only(text).pod.resources == PodResources(two, two)
    assert only(text, pod_level=False).pod.resources is None


@pytest.mark.parametrize(
    ("old", "new", "line", "message"),
    [
        ("limits:", "limit:", 20, 'resources.limit: unknown field "limit" (did you mean limits?)'),
        ("      containers:", "      container:", 16, 'unknown field "container" (did you mean containers?)'),
        ("image: app", "imagee: app", 18, 'unknown field "imagee" (did you mean image?)'),
        ("8Gi", "8Gib", 20, 'limits.memory: "8Gib" is not a quantity: quantities must match'),
        ("8Gi", "8K", 20, 'limits.memory: "8K" is not a quantity: unable to parse quantity\'s suffix'),
        ("8Gi", "-1", 20, 'limits.memory: Invalid value: "-1": must be greater than or equal to 0'),
        ("gpu: 1", "gpu: 0.5", 20, 'limits[nvidia.com/gpu]: Invalid value: "500m": must be an integer'),
        (
            "          limits:",
            "          requests: {cpu: 5}\n          limits:",
            20,
            'requests.cpu: Invalid value: "5": must be less than or equal to cpu limit of 4',
        ),
        ("name: app", "name: proxy", 17, 'containers[0].name: Duplicate value: "proxy"'),
        ("- name: app\n        image", "- image", 17, "name: Required value: a container needs a name"),
        ("name: app", "name: App", 17, 'Invalid value: "App": a lowercase RFC 1123 label'),
        ("name: app", "name: 5", 17, "a text is expected here (put it in quotes)"),
        ("Always", "Sometimes", 14, 'Unsupported value: "Sometimes": supported values: "Always", "Never", "OnFailure"'),
        ("kind: Deployment", "kind: Deploymnt", 6, 'kind: the kind "Deploymnt" is not known (kinds with pods are Pod'),
        ("kind: Deployment", "sort: Deployment", 5, "the object has no kind"),
        ("{name: web, namespace: shop}", "{namespace: shop}", 7, "metadata.name: Required value"),
        ("{name: web, namespace: shop}", "{name: Web}", 7, 'Invalid value: "Web": a lowercase RFC 1123 subdomain'),
        ("replicas: 2", "replicas: two", 9, "spec.replicas: a whole number is expected here"),
        (
            "replicas: 2",
            "replicas: 99999999999999",
            9,
            "spec.replicas: 99999999999999 is more than the API server takes",
        ),
        ("replicas: 2", "replicas: -2", 9, "Invalid value: -2: must be greater than or equal to 0"),
        ("      containers:", "      overhead: {cpu: -1}\n      containers:", 16, 'overhead.cpu: Invalid value: "-1"'),
        (
            "      containers:",
            "      resources: {requests: {cpu: 1}}\n      containers:",
            16,
            "must be greater than or equal to aggregate container requests of 4100m",
        ),
    ],
)
def test_refuses_mistakes_with_line_field_and_cure(old: str, new: str, line: int, message: str) -> None:
    assert old in DEPLOYMENT
    with pytest.raises(InputError) as error:
        read_pods(DEPLOYMENT.replace(old, new, 1), "web.yaml")
    assert message in str(error.value)
    assert (error.value.source, error.value.line) == ("web.yaml", line)


@pytest.mark.parametrize("text", ["", "kind: Service", "kind: List"])
def test_says_so_when_there_is_no_pod(text: str) -> None:
    with pytest.raises(InputError, match="there is no pod in this file"):
        read_pods(text)


def test_knows_the_fields_of_1_36() -> None:
    """Among them the youngest: pod-level resources, hostnameOverride, schedulingGroup and restartPolicyRules."""
    assert {"resources", "hostnameOverride", "schedulingGroup", "workloadRef"} <= POD_SPEC
    assert {"restartPolicyRules", "resizePolicy"} <= CONTAINER
    assert (len(POD_SPEC), len(CONTAINER)) == (43, 25)


def test_makes_up_the_same_uid_each_time() -> None:
    assert made_up_uid("a", "b") == made_up_uid("a", "b") != made_up_uid("b", "a")
    assert len(made_up_uid("a", "b")) == 36


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                [
                    "kind",
                    "metadata",
                    "name",
                    "spec",
                    "containers",
                    "resources",
                    "limits",
                    "requests",
                    "cpu",
                    "status",
                    "items",
                    "apiVersion",
                    "template",
                    "replicas",
                    "uid",
                    "nodeName",
                    "ownerReferences",
                    "phase",
                ]
            ),
            inner | st.sampled_from(["Pod", "Deployment", "PodList", "app", "x.io/v1", "Failed"]),
            max_size=4,
        )
    ),
    max_leaves=20,
)


@given(JSON)
def test_makes_workloads_or_an_input_error_of_anything(value: object) -> None:
    try:
        pods = read_pods(json.dumps(value)).pods
    except InputError:
        pods = ()
    assert all(pod.containers for pod in pods)
