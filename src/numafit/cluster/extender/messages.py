"""What a scheduler asks an extender, and what it is answered: k8s.io/kube-scheduler/extender/v1 (1.36).

These types have no names for JSON, so the names of Go are written. No more of an object is read than is used.
"""

import msgspec

from numafit.cluster.kube.objects import ObjectMeta

MOST_SCORE = 10
"""The best; a scheduler multiplies it by the weight of the extender, and by ten."""

NULL = msgspec.Raw(b"null")
MOST_SEARCHES = 16
"""Names that are looked for in the text; reading all of them takes as long as some twenty searches."""


class AskedNode(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class NodeList(msgspec.Struct, frozen=True):
    """Whole nodes, from a scheduler that believes that we know none."""

    items: tuple[msgspec.Raw, ...] | None = None


class ExtenderArgs(msgspec.Struct, frozen=True, rename="pascal"):
    """Of filter and prioritize. `node_names` where the configuration says `nodeCacheCapable`, else `nodes`."""

    pod: msgspec.Raw
    nodes: NodeList | None = None
    node_names: msgspec.Raw = NULL


class AnsweredNodes(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...]
    apiVersion: str = "v1"
    kind: str = "NodeList"


class FilterResult(msgspec.Struct, frozen=True, rename="pascal", omit_defaults=True):
    """One of the first two, as the scheduler asked; it takes none for no nodes."""

    nodes: AnsweredNodes | None = None
    node_names: list[str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    """Node -> why not. Those that only lack an offer are not named."""


class HostPriority(msgspec.Struct, frozen=True, rename="pascal"):
    host: str
    score: int


class SentNames:
    """The nodes of a request. Of thousands of names only a few are looked for, so they are not read before many are."""

    def __init__(self, raw: bytes, whole: dict[str, msgspec.Raw] | None = None) -> None:
        self._raw, self._whole = raw, whole
        """As they were sent, where not only their names were."""
        self._names: list[str] | None = None if whole is None else list(whole)
        self._known: frozenset[str] | None = None
        self._searches = 0

    @property
    def names(self) -> list[str]:
        """In the order in which they came."""
        if self._names is None:
            self._names = _NAMES.decode(self._raw)
        return self._names

    def __contains__(self, name: object) -> bool:
        if self._known is None:
            if self._whole is None and self._searches < MOST_SEARCHES:
                self._searches += 1
                # No name of a node has anything in it that JSON writes otherwise.
                return f'"{name}"'.encode() in self._raw
            self._known = frozenset(self.names)
        return name in self._known

    def all(self) -> bytes:
        """The answer that all of them will do."""
        if self._whole is None:
            return b'{"NodeNames":' + self._raw + b"}"
        return self.result(self.names)

    def result(self, names: list[str], failed: dict[str, str] | None = None) -> bytes:
        """In the form in which the question came."""
        if self._whole is None:
            own = FilterResult(node_names=names, failed_and_unresolvable_nodes=failed)
        else:
            items = tuple(self._whole[name] for name in names)
            own = FilterResult(nodes=AnsweredNodes(items), failed_and_unresolvable_nodes=failed)
        return msgspec.json.encode(own)


_NAMES = msgspec.json.Decoder(list[str])
_ARGS, _NODE = msgspec.json.Decoder(ExtenderArgs), msgspec.json.Decoder(AskedNode)


def read_args(content: bytes) -> ExtenderArgs:
    """Raises msgspec.MsgspecError for what is none."""
    return _ARGS.decode(content)


def sent_names(args: ExtenderArgs) -> SentNames:
    """Raises msgspec.MsgspecError for what is none."""
    names = bytes(args.node_names)
    if names != b"null":
        if not names.startswith(b"["):
            raise msgspec.ValidationError("Expected `array` - at `$.NodeNames`")
        return SentNames(names)
    items = (args.nodes.items if args.nodes else None) or ()
    return SentNames(b"", {_NODE.decode(raw).metadata.name: raw for raw in items})
