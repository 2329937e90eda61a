"""The chart and the Kustomize base before a real API server, with RBAC on."""

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from numafit.cluster.guard.manifest import guard_manifest
from numafit.cluster.node.manifest import manifest as agent_manifest
from tests.kube.api import Json
from tests.kube.build import binaries, missing, missing_for_helm
from tests.kube.control_plane import ControlPlane
from tests.kube.helm import CHART, IMAGE, RELEASE_NAME, helm, kubectl, kustomized, objects, place_manifest, templated

pytestmark = pytest.mark.real

NAMESPACE = "numafit"


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
