"""What the chart makes, beside the code.

The workloads of the chart are templates of its own, since people choose much in them. They must be those that
`--manifest` of the commands prints, where nobody chooses anything.
"""

import json
from copy import deepcopy

import pytest

from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.guard.manifest import guard_manifest
from numafit.cluster.node.manifest import manifest as agent_manifest
from numafit.cluster.orders.words import ORDERS
from tests.kube.api import Json
from tests.kube.build import missing_for_helm
from tests.kube.helm import CHART, IMAGE, IMAGE_NAME, RELEASE_NAME, helm, objects, place_manifest, templated

pytestmark = pytest.mark.real

AGENT_ONLY = ("--set=place.enabled=false",)
PLACE_ONLY = ("--set=agent.enabled=false",)
GUARD_ONLY = ("--set=agent.enabled=false,place.enabled=false,guard.enabled=true",)
ADDED_BY_CHART = (
    "helm.sh/chart",
    "app.kubernetes.io/part-of",
    "app.kubernetes.io/version",
    "app.kubernetes.io/managed-by",
)


@pytest.fixture(scope="module", autouse=True)
def built() -> None:
    if lacking := missing_for_helm():
        pytest.skip(lacking)


def keyed(found: list[Json]) -> dict[tuple[str, str], Json]:
    by_key = {(each["kind"], each["metadata"]["name"]): each for each in found}
    assert len(by_key) == len(found)
    return by_key


def bare(own: Json) -> Json:
    """Without what a chart adds to all objects and to all pods."""
    own = deepcopy(own)
    places = [own["metadata"]]
    if template := own.get("spec", {}).get("template"):
        places.append(template["metadata"])
        for container in template["spec"]["containers"]:
            container.pop("imagePullPolicy", None)
    for metadata in places:
        labels = {key: text for key, text in metadata.get("labels", {}).items() if key not in ADDED_BY_CHART}
        # Only of pods it counts: they are found by it.
        if metadata is own["metadata"]:
            labels.pop("app.kubernetes.io/name", None)
        metadata["labels"] = labels
        if not labels:
            del metadata["labels"]
    annotations = own["metadata"].get("annotations", {})
    if annotations.pop("helm.sh/resource-policy", None) and not annotations:
        del own["metadata"]["annotations"]
    return own


@pytest.mark.parametrize(
    ("options", "text"),
    [
        (AGENT_ONLY, agent_manifest("team", IMAGE_NAME)),
        (
            (*AGENT_ONLY, "--set=agent.resourceTopology=true"),
            agent_manifest("team", IMAGE_NAME, resource_topology=True),
        ),
        ((*AGENT_ONLY, "--set=agent.allowSwitch=true"), agent_manifest("team", IMAGE_NAME, orders=ORDERS)),
        (PLACE_ONLY, place_manifest("team")),
        (
            (*PLACE_ONLY, "--set=place.names=4,place.unknownNodes=never,place.scale=true,place.optIn=true"),
            place_manifest("team", "--names=4", "--unknown-nodes=never", "--scale", "--opt-in"),
        ),
        ((*PLACE_ONLY, "--set=place.guard=off"), place_manifest("team", "--guard=off")),
        ((*PLACE_ONLY, "--set=place.guard=on"), place_manifest("team", "--guard=on")),
        ((*PLACE_ONLY, "--set=place.jobs=true"), place_manifest("team", "--jobs")),
        (
            (*PLACE_ONLY, "--set=place.guard=on,place.jobs=true,place.optIn=true"),
            place_manifest("team", "--guard=on", "--jobs", "--opt-in"),
        ),
        (GUARD_ONLY, guard_manifest("team", IMAGE_NAME)),
        (
            (*GUARD_ONLY, "--set=guard.enforce=true,guard.jobs=true,guard.optIn=true"),
            guard_manifest("team", IMAGE_NAME, enforce=True, jobs=True, opt_in=True),
        ),
        ((*GUARD_ONLY, "--set=guard.enforce=true"), guard_manifest("team", IMAGE_NAME, enforce=True)),
        (
            (*GUARD_ONLY, "--set=guard.enforce=true,guard.by=webhook"),
            guard_manifest("team", IMAGE_NAME, enforce=True, webhook=WebhookOptions("team", "numafit-guard")),
        ),
    ],
    ids=[
        *("agent", "agent with NodeResourceTopology", "agent that switches"),
        *("place", "place with options", "place without guard", "place with guard"),
        *("place for Jobs", "place for Jobs that want it"),
        *("guard", "guard with options", "guard that acts", "guard by webhook"),
    ],
)
def test_the_chart_makes_what_the_command_prints(options: tuple[str, ...], text: str) -> None:
    """But for the namespace, which helm makes, network policies, and what is done after the last of them."""
    alone = "--set=networkPolicy.enabled=false,releaseOnUninstall=false"
    made = keyed(templated(*options, alone, namespace="team"))
    printed = keyed([each for each in objects(text) if each["kind"] != "Namespace"])
    assert {key: bare(own) for key, own in made.items()} == {key: bare(own) for key, own in printed.items()}


# Values


def test_helm_has_nothing_to_say_about_the_chart() -> None:
    done = helm("lint", "--strict", str(CHART), IMAGE)
    assert done.status == 0, done.text


@pytest.mark.parametrize(
    ("option", "complaint"),
    [
        ("--set=agents.enabled=true", "additional properties 'agents' not allowed"),
        ("--set=agent.enabled=perhaps", "'/agent/enabled'"),
        ("--set=agent.metricsPort=80", "'/agent/metricsPort'"),
        ("--set=agent.kubeletDir=var/lib/kubelet", "'/agent/kubeletDir'"),
        ("--set=agent.resources.limits.memory=much", "'/agent/resources/limits/memory'"),
        ("--set=guard.by=hand", "'/guard/by'"),
        ("--set=place.guard=true", "'/place/guard'"),
        ("--set=guard.enabled=true", "place has the guard beside it already"),
        (
            "--set=place.guard=off,place.jobs=true,guard.enabled=true,guard.enforce=true,guard.jobs=true",
            "guard.jobs: place.jobs brings the policy for Jobs already",
        ),
        ("--set=guard.enforce=dry-run", "'/guard/enforce'"),
        ("--set=place.replicas=0", "'/place/replicas'"),
        ("--set=place.unknownNodes=first", "'/place/unknownNodes'"),
        ("--set=image.digest=latest", "'/image/digest'"),
        ("--set=image.repository=", "image.repository: name the image"),
        ("--kube-version=1.29.0", "incompatible with Kubernetes v1.29.0"),
    ],
)
def test_a_value_that_cannot_be_meant_is_refused(option: str, complaint: str) -> None:
    done = helm("template", RELEASE_NAME, str(CHART), IMAGE, option)
    assert done.status != 0
    assert complaint in done.text


def pod_of(found: list[Json], name: str) -> Json:
    kinds = ("DaemonSet", "Deployment")
    (own,) = (each for each in found if each["kind"] in kinds and each["metadata"]["name"] == name)
    template: Json = own["spec"]["template"]
    return template


def test_what_people_choose_comes_through() -> None:
    values = {
        "imagePullSecrets": [{"name": "registry"}],
        "labels": {"team": "blue"},
        "image": {"digest": f"sha256:{'0' * 64}"},
        "agent": {
            "kubeletDir": "/data/kubelet",
            "extraArgs": ["--kubelet-config=configz"],
            "nodeSelector": {"pool": "gpu"},
            "tolerations": [{"key": "gpu", "operator": "Exists"}],
            "affinity": {"nodeAffinity": {}},
            "priorityClassName": "high",
            "podAnnotations": {"note": "x"},
            "podLabels": {"own": "y"},
            "resources": {"limits": {"memory": "1Gi"}},
        },
    }
    made = templated(*(f"--set-json={name}={json.dumps(own)}" for name, own in values.items()))
    pod = pod_of(made, "numafit-node-agent")
    spec = pod["spec"]
    (container,) = spec["containers"]
    assert container["image"] == f"example.com/numafit@sha256:{'0' * 64}"
    assert container["command"][-2:] == ["--kubelet-dir=/data/kubelet", "--kubelet-config=configz"]
    assert container["resources"]["limits"] == {"memory": "1Gi"}
    assert {"mountPath": "/host/data/kubelet", "name": "var-lib-kubelet", "readOnly": True} in container["volumeMounts"]
    assert (spec["nodeSelector"]["pool"], spec["priorityClassName"]) == ("gpu", "high")
    assert (spec["tolerations"], spec["imagePullSecrets"]) == (
        [{"key": "gpu", "operator": "Exists"}],
        [{"name": "registry"}],
    )
    assert spec["affinity"] == {"nodeAffinity": {}}
    assert (pod["metadata"]["annotations"], pod["metadata"]["labels"]["own"]) == ({"note": "x"}, "y")
    assert all(each["metadata"]["labels"]["team"] == "blue" for each in made)


def test_metrics_are_found_where_the_operator_of_prometheus_is() -> None:
    made = templated("--set=podMonitor.enabled=true", "--set=podMonitor.labels.release=prometheus")
    monitors = [each for each in made if each["kind"] == "PodMonitor"]
    assert monitors
    for each in monitors:
        assert each["metadata"]["labels"]["release"] == "prometheus"
        labels = pod_of(made, each["metadata"]["name"])["metadata"]["labels"]
        assert each["spec"]["selector"]["matchLabels"].items() <= labels.items()


def test_no_pod_is_reached_but_at_a_port_that_it_names() -> None:
    closed = "--set=networkPolicy.egress.enabled=true,networkPolicy.egress.apiServer={10.0.0.1/32}"
    made = templated(closed, "--set=place.guard=off,guard.enabled=true,guard.enforce=true,guard.by=webhook")
    policies = [each for each in made if each["kind"] == "NetworkPolicy"]
    workloads = [each["metadata"]["name"] for each in made if each["kind"] in ("DaemonSet", "Deployment")]
    assert sorted(each["metadata"]["name"] for each in policies) == sorted(workloads)
    for each in policies:
        pod = pod_of(made, each["metadata"]["name"])
        named = {port["name"] for own in pod["spec"]["containers"] for port in own["ports"]}
        assert {port["port"] for rule in each["spec"]["ingress"] for port in rule["ports"]} == named
        assert each["spec"]["policyTypes"] == ["Ingress", "Egress"]
        assert each["spec"]["egress"][1]["to"] == [{"ipBlock": {"cidr": "10.0.0.1/32"}}]
