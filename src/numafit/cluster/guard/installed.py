"""What has to be there before a guard can act, and what is there to be taken away."""

from http import HTTPStatus

import msgspec

from numafit.cluster.admission.configuration import ConfigurationKeeper
from numafit.cluster.admission.counts import AdmissionCounts
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.guard.hands import GuardHands
from numafit.cluster.guard.policies import BINDINGS, GROUP_PATH, POLICIES, anchor_binding, hold_binding, hold_policy
from numafit.cluster.guard.words import ENABLED_KEY, HOLD_POLICY, MEMORY, UNTIL_KEY
from numafit.cluster.kube.api import MERGE, KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.kube.objects import PODS, ObjectJson
from numafit.cluster.live.pods import ClusterPod, PodKeeper, SentPod
from numafit.cluster.live.words import GUARD, HOLD_GATE
from numafit.cluster.topology.model import PATH as TOPOLOGIES
from numafit.errors import ApiServerError, InputError

UNBOUND = {"fieldSelector": "spec.nodeName="}
NAMESPACES = "/api/v1/namespaces"
APPLY = "numafit guard --enforce --manifest --image IMAGE | kubectl apply -f -"
OPENED = "all gates were to be removed"


class ServedResource(msgspec.Struct, frozen=True):
    name: str = ""


class ServedResources(msgspec.Struct, frozen=True):
    resources: tuple[ServedResource, ...] = ()


class _Data(msgspec.Struct, frozen=True):
    data: dict[str, str] | None = None


async def check_topologies(api: KubeApi) -> None:
    """Raises InputError for a cluster that does not know what nodes publish."""
    if not await _is_there(api, TOPOLOGIES, {"limit": "1"}):
        why = "the cluster knows no NodeTopology, by which nodes say how they stand"
        raise InputError(why, source=api.access.cluster.server, cure=f"its definition comes with {APPLY}")


async def has_namespace(api: KubeApi, namespace: str) -> bool:
    return await _is_there(api, f"{NAMESPACES}/{namespace}")


async def install(api: KubeApi, namespace: str, *, by_policy: bool, opt_in: bool = False) -> None:
    """Makes the namespace and the policy with its binding, where there are none and we may. A binding alone that is not
    there was taken away: that is the switch of the guard. Raises InputError for a cluster where it could not act, with
    what to do about it."""
    if not await has_namespace(api, namespace):
        own = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}
        await _made(api, NAMESPACES, own, f"there is no namespace {namespace}")
    if not by_policy:
        return
    served = msgspec.json.decode(await api.get(GROUP_PATH), type=ServedResources)
    if POLICIES not in {own.name for own in served.resources}:
        why = "the cluster serves no MutatingAdmissionPolicy of version v1, which Kubernetes has from 1.36 on"
        raise InputError(why, source=api.access.cluster.server, cure="let a webhook hold pods: --by webhook")
    if not await _is_there(api, f"{GROUP_PATH}/{POLICIES}/{HOLD_POLICY}"):
        why = f"there is no MutatingAdmissionPolicy {HOLD_POLICY}, by which pods are held"
        for binding in (anchor_binding(namespace), hold_binding(namespace)):
            await _made(api, f"{GROUP_PATH}/{BINDINGS}", binding, why)
        await _made(api, f"{GROUP_PATH}/{POLICIES}", hold_policy(namespace, opt_in=opt_in), why)


async def _made(api: KubeApi, path: str, content: ObjectJson, why: str) -> None:
    try:
        await api.create(path, msgspec.json.encode(content))
    except ApiServerError as error:
        if error.status == HTTPStatus.CONFLICT:
            # Another replica was quicker.
            return
        if error.status != HTTPStatus.FORBIDDEN:
            raise
        raise InputError(why, source=api.access.cluster.server, cure=f"it comes with {APPLY}") from None


async def _is_there(api: KubeApi, path: str, parameters: dict[str, str] | None = None) -> bool:
    try:
        await api.get(path, parameters or {})
    except ApiServerError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return False
    return True


async def release_all(api: KubeApi, health: ApiHealth, namespace: str) -> tuple[int, int]:
    """Nothing is held any more, nobody is armed, and no API server asks: how many pods lost our gate, and how many
    could not. Raises ApiServerError where not even that can be found out."""
    await _unasked(api, namespace)
    await _forget_all(api, namespace)
    hands = GuardHands(api, health)
    done = failed = 0
    for pod in await _held(api):
        if await hands.release(pod, OPENED):
            done += 1
        else:
            failed += 1
    return done, failed


async def _unasked(api: KubeApi, namespace: str) -> None:
    """A guard that still runs puts its webhook back. Who may not remove it leaves one that nobody answers: it fails
    open."""
    try:
        await ConfigurationKeeper(api, WebhookOptions(namespace, GUARD), AdmissionCounts()).remove()
    except ApiServerError as error:
        if error.status != HTTPStatus.FORBIDDEN:
            raise


async def _held(api: KubeApi) -> list[ClusterPod]:
    keeper, found = PodKeeper(), []
    async for page in api.pages(PODS, UNBOUND):
        for raw in page.items or ():
            if HOLD_GATE.encode() in bytes(raw):
                pod = keeper.kept(msgspec.json.decode(raw, type=SentPod))
                if HOLD_GATE in pod.gates:
                    found.append(pod)
    return found


async def _forget_all(api: KubeApi, namespace: str) -> None:
    path = f"/api/v1/namespaces/{namespace}/configmaps/{MEMORY}"
    try:
        known = msgspec.json.decode(await api.get(path), type=_Data).data or {}
    except ApiServerError as error:
        if error.status != HTTPStatus.NOT_FOUND:
            raise
        return
    owners = dict.fromkeys(key for key in known if key not in (ENABLED_KEY, UNTIL_KEY))
    await api.patch(path, msgspec.json.encode({"data": owners}), MERGE, {"fieldManager": GUARD})
