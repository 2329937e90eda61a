"""The chart and the Kustomize base before a real API server, with RBAC on.

The workloads of the chart are templates of its own, since people choose much in them. They must be those that
`--manifest` of the commands prints, where nobody chooses anything.
"""

import json
import subprocess
import sys
from collections.abc import Iterator
from copy import deepcopy
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from numafit.cli import numafit
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.guard.manifest import guard_manifest
from numafit.cluster.node.manifest import manifest as agent_manifest
from numafit.cluster.orders.words import ORDERS
from tests.kube.api import Json
from tests.kube.build import binaries, missing, missing_for_helm
from tests.kube.control_plane import ControlPlane
from tests.kube.helm import CHART, IMAGE, RELEASE_NAME, helm, kubectl, kustomized, objects, templated

pytestmark = pytest.mark.real

NAMESPACE = "numafit"
IMAGE_NAME = "example.com/numafit:0.1.0"
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


@pytest.fixture(scope="module")
def own_cluster(short_folder: Path) -> Iterator[ControlPlane]:
    """Of these tests alone: others make some of the same objects by hand, which helm does not take for its own."""
    if lacking := missing():
        pytest.skip(lacking)
    with ControlPlane(short_folder / "deploy", binaries()) as own:
        own.api.post("/api/v1/namespaces", {"metadata": {"name": NAMESPACE}})
        yield own


# Beside the code


def place_manifest(namespace: str, *options: str) -> str:
    """As the command prints it."""
    words = ["place", "--manifest", f"--image={IMAGE_NAME}", f"--namespace={namespace}", *options]
    return CliRunner().invoke(numafit, words, catch_exceptions=False).stdout


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


# Before the API server

VARIANTS = {
    "as it is": (),
    "agent that switches": ("--set=agent.allowSwitch=true", "--set=agent.resourceTopology=true"),
    "closed network": ("--set=networkPolicy.egress.enabled=true",),
    "one replica": ("--set=place.replicas=1",),
    "guard alone": ("--set=place.enabled=false,guard.enabled=true,guard.enforce=true,guard.jobs=true",),
    "guard by webhook": ("--set=place.guard=off,guard.enabled=true,guard.enforce=true,guard.by=webhook",),
    "guard beside place": ("--set=place.guard=on",),
    "on the network of nodes": ("--set=place.hostNetwork=true",),
}


@pytest.mark.parametrize("options", VARIANTS.values(), ids=VARIANTS)
def test_the_api_server_accepts_all_objects_of_the_chart(own_cluster: ControlPlane, options: tuple[str, ...]) -> None:
    text = helm("template", RELEASE_NAME, str(CHART), f"--namespace={NAMESPACE}", IMAGE, *options).text
    done = kubectl(own_cluster, "apply", "--dry-run=server", "-f", "-", data=text)
    assert done.status == 0, done.text
    assert len(done.text.splitlines()) == len(objects(text))


@pytest.mark.parametrize("folder", ["base", "overlays/example"])
def test_the_api_server_accepts_all_objects_of_the_base(own_cluster: ControlPlane, folder: str) -> None:
    text = kustomized(own_cluster, folder)
    done = kubectl(own_cluster, "apply", "--dry-run=server", "-f", "-", data=text)
    assert done.status == 0, done.text
    assert len(done.text.splitlines()) == len(objects(text))


@pytest.mark.parametrize(
    ("level", "refused"), [("baseline", ["numafit-node-agent"]), ("restricted", ["numafit-node-agent"])]
)
def test_only_the_agent_needs_more_than_a_restricted_namespace(
    own_cluster: ControlPlane, level: str, refused: list[str]
) -> None:
    """By the API server's own Pod Security admission. The agent sees folders of its host, which no level allows."""
    labels = {"pod-security.kubernetes.io/enforce": level}
    own_cluster.api.post("/api/v1/namespaces", {"metadata": {"name": level, "labels": labels}})
    account = f"/api/v1/namespaces/{level}/serviceaccounts"
    found = []
    for each in templated("--set=place.guard=off,guard.enabled=true", namespace=level):
        if each["kind"] in ("DaemonSet", "Deployment"):
            name, spec = each["metadata"]["name"], each["spec"]["template"]["spec"]
            own_cluster.api.post(account, {"metadata": {"name": name}})
            pod = {"metadata": {"name": name}, "spec": spec}
            answer = own_cluster.api.ask("POST", f"/api/v1/namespaces/{level}/pods?dryRun=All", pod)
            if answer.status_code == httpx.codes.FORBIDDEN:
                assert "violates PodSecurity" in answer.text
                found.append(name)
            else:
                assert answer.is_success, answer.text
    assert found == refused


# Rights

EVERYBODY = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"


def rules(cluster: ControlPlane, account: str, namespace: str) -> set[tuple[str, ...]]:
    """(group, resource, name, verb) of all that this account may do in this namespace, by the API server."""
    user = f"system:serviceaccount:{NAMESPACE}:{account}"
    headers = {"Impersonate-User": user, "Impersonate-Group": "system:authenticated"}
    asked = {
        "apiVersion": "authorization.k8s.io/v1",
        "kind": "SelfSubjectRulesReview",
        "spec": {"namespace": namespace},
    }
    answer = cluster.api.client.post(EVERYBODY, json=asked, headers=headers)
    status = answer.json()["status"]
    assert status["incomplete"] is False
    return {each for rule in status["resourceRules"] for each in flat(rule)}


def flat(rule: Json) -> Iterator[tuple[str, ...]]:
    names = rule.get("resourceNames") or [""]
    for group in rule["apiGroups"]:
        for resource in rule["resources"]:
            yield from ((group, resource, name, verb) for name in names for verb in rule["verbs"])


def given(found: list[Json], namespace: str) -> set[tuple[str, ...]]:
    """What the roles in these objects allow in this namespace."""
    roles = [
        each
        for each in found
        if each["kind"] == "ClusterRole" or (each["kind"] == "Role" and each["metadata"]["namespace"] == namespace)
    ]
    return {own for each in roles for rule in each["rules"] for own in flat(rule)}


@pytest.fixture(scope="module")
def installed(own_cluster: ControlPlane) -> ControlPlane:
    guard = "--set=place.guard=off,guard.enabled=true,guard.enforce=true"
    done = helm("install", RELEASE_NAME, str(CHART), f"--namespace={NAMESPACE}", IMAGE, guard, cluster=own_cluster)
    assert done.status == 0, done.text
    return own_cluster


ACCOUNTS = {
    "numafit-node-agent": agent_manifest(NAMESPACE, "x"),
    "numafit-place": place_manifest(NAMESPACE, "--guard=off"),
    "numafit-guard": guard_manifest(NAMESPACE, "x", enforce=True),
}


@pytest.mark.parametrize("account", ACCOUNTS)
@pytest.mark.parametrize("namespace", [NAMESPACE, "default", "kube-system"])
def test_an_account_may_do_what_its_component_does_and_nothing_more(
    installed: ControlPlane, account: str, namespace: str
) -> None:
    """By the API server's own answer, beside what everybody may do."""
    everybody = rules(installed, "nobody", namespace)
    expected = given(objects(ACCOUNTS[account]), namespace)
    assert rules(installed, account, namespace) - everybody == expected


def test_an_upgrade_changes_the_definition_and_an_uninstallation_leaves_it(own_cluster: ControlPlane) -> None:
    """And with it all that the agents have told."""
    name = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions/nodetopologies.topology.numafit.io"
    words = (RELEASE_NAME, str(CHART), f"--namespace={NAMESPACE}", IMAGE)
    assert helm("upgrade", "--install", *words, cluster=own_cluster).status == 0
    assert helm("upgrade", *words, "--set=labels.second=time", cluster=own_cluster).status == 0
    definition: Any = own_cluster.api.get(name)
    assert definition["metadata"]["labels"]["second"] == "time"
    done = helm("uninstall", RELEASE_NAME, f"--namespace={NAMESPACE}", "--no-hooks", cluster=own_cluster)
    assert done.status == 0, done.text
    assert own_cluster.api.get(name) is not None
    assert own_cluster.api.get("/apis/rbac.authorization.k8s.io/v1/clusterroles/numafit-node-agent") is None
    # A release that comes later finds what this one left, and takes it over.
    assert helm("install", *words, cluster=own_cluster).status == 0
    assert helm("uninstall", RELEASE_NAME, f"--namespace={NAMESPACE}", "--no-hooks", cluster=own_cluster).status == 0


def test_a_release_takes_over_what_kubectl_applied(own_cluster: ControlPlane) -> None:
    """No selector differs, which could not be changed."""
    applied = kubectl(own_cluster, "apply", "-f", "-", data=kustomized(own_cluster, "base"))
    assert applied.status == 0, applied.text
    words = (RELEASE_NAME, str(CHART), f"--namespace={NAMESPACE}", IMAGE)
    assert "cannot be imported" in helm("install", *words, cluster=own_cluster).text
    done = helm("install", *words, "--take-ownership", cluster=own_cluster)
    assert done.status == 0, done.text
    assert helm("uninstall", RELEASE_NAME, f"--namespace={NAMESPACE}", "--no-hooks", cluster=own_cluster).status == 0
    for kind in ("daemonsets", "deployments"):
        left = own_cluster.api.get(f"/apis/apps/v1/namespaces/{NAMESPACE}/{kind}") or {}
        assert left["items"] == []


def account_kubeconfig(cluster: ControlPlane, account: str, path: Path) -> Path:
    asked = {"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": {"expirationSeconds": 3600}}
    place = f"/api/v1/namespaces/{NAMESPACE}/serviceaccounts/{account}/token"
    token = cluster.api.post(place, asked)["status"]["token"]
    own = {"server": cluster.server, "certificate-authority": str(cluster.authority.certificate)}
    content = {
        "clusters": [{"name": "c", "cluster": own}],
        "users": [{"name": "u", "user": {"token": token}}],
        "contexts": [{"name": "c", "context": {"cluster": "c", "user": "u"}}],
        "current-context": "c",
    }
    path.write_text(json.dumps(content))
    return path


def test_what_is_left_when_all_is_gone_lets_all_pods_go(own_cluster: ControlPlane, tmp_path: Path) -> None:
    """The Job of an uninstallation, with the account that the chart gives it, and nothing else of the release."""
    made = [each for each in templated() if "helm.sh/hook" in each["metadata"].get("annotations", {})]
    rights = [each for each in made if each["kind"] != "Job"]
    assert {each["metadata"]["annotations"]["helm.sh/hook"] for each in made} == {"post-delete"}
    text = "".join(f"---\n{json.dumps(each)}\n" for each in rights)
    assert kubectl(own_cluster, "apply", "-f", "-", data=text).status == 0
    api, pods = own_cluster.api, "/api/v1/namespaces/default/pods"
    container = {"name": "c", "image": "none:1"}
    for name, gate in (("waits", "numafit.io/place"), ("held", "numafit.io/hold"), ("of-others", "example.com/gate")):
        spec = {"containers": [container], "schedulingGates": [{"name": gate}]}
        api.post(pods, {"metadata": {"name": name}, "spec": spec})
    webhooks = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations"
    api.post(webhooks, {"metadata": {"name": "numafit-place"}, "webhooks": []})
    config = account_kubeconfig(own_cluster, "numafit-uninstall", tmp_path / "config")
    (job,) = (each for each in made if each["kind"] == "Job")
    spec = job["spec"]["template"]["spec"]
    for own in (*spec["initContainers"], *spec["containers"]):
        name, *words = own["command"]
        assert name == "numafit"
        command = [sys.executable, "-m", "numafit", *words, f"--kubeconfig={config}"]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=60)
        assert (done.returncode, done.stdout[:10]) == (0, "1 released" if own["name"] == "guard" else "1 pods wer")
    gates = {name: pod["spec"].get("schedulingGates", []) for name, pod in api.pods().items()}
    assert gates == {"waits": [], "held": [], "of-others": [{"name": "example.com/gate"}]}
    assert api.get(f"{webhooks}/numafit-place") is None
    assert kubectl(own_cluster, "delete", "-f", "-", data=text).status == 0
    api.ask("DELETE", pods)
