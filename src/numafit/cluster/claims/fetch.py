"""The claims of the pods on one node and the slices of its devices, from the API server."""

from collections.abc import Iterator
from http import HTTPStatus

import msgspec

from numafit.cluster.claims.objects import CLAIM, GROUP, SLICE, VERSIONS
from numafit.cluster.kube.client import Client
from numafit.cluster.kube.objects import ObjectJson
from numafit.errors import ApiServerError


class _PodMeta(msgspec.Struct):
    namespace: str = ""
    uid: str = ""


class _PodSpec(msgspec.Struct):
    resourceClaims: list[msgspec.Raw] | None = None


class _ClaimingPod(msgspec.Struct):
    metadata: _PodMeta
    spec: _PodSpec


class _ClaimingPods(msgspec.Struct):
    items: list[_ClaimingPod] | None = None


class _Items(msgspec.Struct):
    items: list[ObjectJson] | None = None


def claims_on(client: Client, node: str, pods: bytes) -> bytes | None:
    """A list of both kinds; None where no pod of this list has claims. Raises ApiServerError.

    Claims are asked for in the namespaces of such pods only, and those of other pods are left out.
    """
    try:
        listed = msgspec.json.decode(pods, type=_ClaimingPods).items or ()
    except msgspec.MsgspecError:
        # Whoever reads the pods says what is wrong with them.
        return None
    claiming = [pod for pod in listed if pod.spec.resourceClaims]
    if not claiming:
        return None
    uids = {pod.metadata.uid for pod in claiming}
    items: list[ObjectJson] = []
    for space in sorted({pod.metadata.namespace for pod in claiming}):
        found = _resources(client, CLAIM, f"namespaces/{space}/resourceclaims", {})
        items += [item for item in found if uids & set(_reserved_for(item))]
    items += _resources(client, SLICE, "resourceslices", {"fieldSelector": f"spec.nodeName={node}"})
    return msgspec.json.encode({"apiVersion": "v1", "kind": "List", "items": items})


def _resources(client: Client, kind: str, path: str, parameters: dict[str, str]) -> list[ObjectJson]:
    """Of the newest version that the server knows; none where it knows none."""
    for version in VERSIONS:
        try:
            pages = client.pages(f"/apis/{GROUP}/{version}/{path}", parameters)
            lists = [msgspec.json.decode(page, type=_Items) for page in pages]
        except ApiServerError as error:
            if error.status == HTTPStatus.NOT_FOUND:
                continue
            raise
        except msgspec.MsgspecError as error:
            raise ApiServerError(f"this is no list of {kind}s: {error}", source=client.access.cluster.server) from None
        head = {"apiVersion": f"{GROUP}/{version}", "kind": kind}
        return [{**head, **item} for each in lists for item in each.items or ()]
    return []


def _reserved_for(claim: ObjectJson) -> Iterator[str]:
    status = claim.get("status")
    reserved = status.get("reservedFor") if isinstance(status, dict) else None
    for consumer in reserved if isinstance(reserved, list) else ():
        if isinstance(consumer, dict):
            yield str(consumer.get("uid", ""))
