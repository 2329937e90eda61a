"""Objects of the API: no more of them than is used. Whoever needs more fields makes a struct of his own."""

from typing import Any

import msgspec

from numafit.errors import ApiServerError

NODES, PODS = "/api/v1/nodes", "/api/v1/pods"

ObjectJson = dict[str, Any]
"""An object of the API or a part of one, written as it is. `Any`: JSON."""


class ObjectMeta(msgspec.Struct, frozen=True, gc=False):
    name: str = ""
    namespace: str = ""
    uid: str = ""
    resourceVersion: str = ""


class ObjectReference(msgspec.Struct, frozen=True, omit_defaults=True):
    """What an event is about."""

    kind: str
    name: str
    uid: str = ""
    namespace: str = ""
    apiVersion: str = "v1"


def node_owner(name: str, uid: str) -> ObjectJson:
    """For `ownerReferences`: what the Node owns goes with it."""
    return {"apiVersion": "v1", "kind": "Node", "name": name, "uid": uid}


class ListMeta(msgspec.Struct, frozen=True, rename={"rest": "continue"}):
    resourceVersion: str = ""
    rest: str = ""
    """Where the next page begins; empty on the last one."""


class ListPage(msgspec.Struct, frozen=True):
    metadata: ListMeta
    items: tuple[msgspec.Raw, ...] | None = None


def list_page(data: bytes, server: str) -> ListPage:
    """Raises ApiServerError for what is none."""
    try:
        return msgspec.json.decode(data, type=ListPage)
    except msgspec.MsgspecError as error:
        raise ApiServerError(f"this is no list of an API server: {error}", source=server) from None


def key_of(meta: ObjectMeta) -> str:
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
