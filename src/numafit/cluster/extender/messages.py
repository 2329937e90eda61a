"""What a scheduler asks an extender, and what it is answered: k8s.io/kube-scheduler/extender/v1 (1.36).

These types have no names for JSON, so the names of Go are written. No more of an object is read than is used.
"""

import msgspec

from numafit.cluster.kube.objects import ObjectMeta

MOST_SCORE = 10
"""The best; a scheduler multiplies it by the weight of the extender, and by ten."""


class SentNode(msgspec.Struct, frozen=True):
    metadata: ObjectMeta = ObjectMeta()


class NodeList(msgspec.Struct, frozen=True):
    """Whole nodes, from a scheduler that believes that we know none."""

    items: tuple[msgspec.Raw, ...] | None = None


class ExtenderArgs(msgspec.Struct, frozen=True, rename="pascal"):
    """Of filter and prioritize. `node_names` where the configuration says `nodeCacheCapable`, else `nodes`."""

    pod: msgspec.Raw
    nodes: NodeList | None = None
    node_names: list[str] | None = None


class NodeAnswer(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...]
    apiVersion: str = "v1"
    kind: str = "NodeList"


class FilterResult(msgspec.Struct, frozen=True, rename="pascal", omit_defaults=True):
    """One of the first two, as the scheduler asked; it takes none for no nodes."""

    nodes: NodeAnswer | None = None
    node_names: list[str] | None = None
    failed_and_unresolvable_nodes: dict[str, str] | None = None
    """Node -> why not. Those that only lack an offer are not named."""


class HostPriority(msgspec.Struct, frozen=True, rename="pascal"):
    host: str
    score: int


class SentNames(msgspec.Struct, frozen=True):
    """The nodes of a request by name, in the order in which they came."""

    names: list[str]
    whole: dict[str, msgspec.Raw] | None = None
    """As they were sent, where not only their names were."""

    def result(self, names: list[str], failed: dict[str, str] | None = None) -> FilterResult:
        """In the form in which the question came."""
        if self.whole is None:
            return FilterResult(node_names=names, failed_and_unresolvable_nodes=failed)
        items = tuple(self.whole[name] for name in names)
        return FilterResult(nodes=NodeAnswer(items), failed_and_unresolvable_nodes=failed)


_ARGS, _NODE = msgspec.json.Decoder(ExtenderArgs), msgspec.json.Decoder(SentNode)


def read_args(content: bytes) -> ExtenderArgs:
    """Raises msgspec.MsgspecError for what is none."""
    return _ARGS.decode(content)


def sent_names(args: ExtenderArgs) -> SentNames:
    if args.node_names is not None:
        return SentNames(args.node_names)
    items = (args.nodes.items if args.nodes else None) or ()
    whole = {_NODE.decode(raw).metadata.name: raw for raw in items}
    return SentNames(list(whole), whole)
