"""Objects of the API: no more of them than is used. Whoever needs more fields makes a struct of his own."""

import msgspec


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


def key_of(meta: ObjectMeta) -> str:
    return f"{meta.namespace}/{meta.name}" if meta.namespace else meta.name
