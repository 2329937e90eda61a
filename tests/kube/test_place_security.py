"""Who may write what place, guard and extender trust, on a real API server."""

import pytest

from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.kube.rights import bound_role
from numafit.cluster.live.trust import offer_rules, offers_of_ours_only
from numafit.cluster.live.words import NODES_ANNOTATION
from numafit.cluster.place.manifest import PlaceManifest
from tests.kube.api import MERGE, Json
from tests.kube.control_plane import ControlPlane
from tests.kube.placing import NAMESPACE, aligned, make_namespace
from tests.kube.processes import until

pytestmark = pytest.mark.real

SPACE = "security"
PODS = f"/api/v1/namespaces/{SPACE}/pods"
OFFERS = {"metadata": {"annotations": {NODES_ANNOTATION: "n1,n2"}}}


def pod(name: str, **more: Json) -> Json:
    return {"metadata": {"name": name, **more}, "spec": aligned(1, schedulerName="nobody")}


def test_only_who_has_the_right_says_which_nodes_a_pod_counts_on(cluster: ControlPlane) -> None:
    """A pod counts on the nodes that the annotation names until it is bound: with it anybody who may make a pod would
    keep all nodes from others. Policies of several manifests do not refuse each other's accounts."""
    api = cluster.api
    make_namespace(cluster, SPACE)
    made = []

    def post(path: str, own: Json) -> str:
        api.post(path, own)
        return f"{path}/{own['metadata']['name']}"

    manifest = PlaceManifest(WebhookOptions(NAMESPACE), "none:1", 9468).objects()
    policies = [own for own in manifest if own["kind"].startswith("ValidatingAdmissionPolicy")]
    for own in (*policies, *offers_of_ours_only("aligned")):
        kind = "validatingadmissionpolicies" if own["kind"].endswith("Policy") else own["kind"].lower() + "s"
        made.append(post(f"/apis/{own['apiVersion']}/{kind}", own))
    # Both may change pods; one of them has the right, too.
    changes = {"apiGroups": [""], "resources": ["pods"], "verbs": ["get", "patch"]}
    for account, rules in (("with", [changes, *offer_rules()]), ("without", [changes])):
        for own in bound_role(f"security-{account}", rules, {"name": account, "namespace": SPACE}):
            made.append(post(f"/apis/{own['apiVersion']}/{own['kind'].lower()}s", own))
    try:
        forged = pod("forged", annotations=OFFERS["metadata"]["annotations"])
        # Policies count a moment after they were made.
        until("it is refused", 60, lambda: api.ask("POST", f"{PODS}?dryRun=All", forged).status_code == 422)
        assert "is written by numafit only" in api.ask("POST", PODS, forged).text
        api.post(PODS, pod("plain"))
        api.post(PODS, pod("other", annotations={"other": "x"}))
        for path in (f"{PODS}/plain", f"{PODS}/other", f"{PODS}/plain/status"):
            assert api.ask("PATCH", path, OFFERS, MERGE).status_code == 422
        assert api.ask("PATCH", f"{PODS}/plain", {"metadata": {"annotations": {"a": "b"}}}, MERGE).is_success
        status = {"status": {"conditions": [{"type": "x", "status": "True"}]}}
        assert api.ask("PATCH", f"{PODS}/plain/status", status, MERGE).is_success

        for account, status in (("without", 422), ("with", 200)):
            api.client.headers["Impersonate-User"] = f"system:serviceaccount:{SPACE}:{account}"
            try:
                assert api.ask("PATCH", f"{PODS}/plain", OFFERS, MERGE).status_code == status
            finally:
                del api.client.headers["Impersonate-User"]
        nothing = {"metadata": {"annotations": {NODES_ANNOTATION: None}}}
        assert api.ask("PATCH", f"{PODS}/plain", nothing, MERGE).status_code == 422
        assert api.ask("PATCH", f"{PODS}/plain", {"metadata": {"labels": {"a": "b"}}}, MERGE).is_success
        api.delete(f"{PODS}/plain")
    finally:
        for path in made:
            api.delete(path)
