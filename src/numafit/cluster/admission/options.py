"""How a webhook is reached, and which pods the API server asks it about."""

from urllib.parse import urlsplit

import msgspec

from numafit.cluster.live.words import PLACE_LABEL, PLACER
from numafit.errors import InputError

PATH = "/pods"
SYSTEM_NAMESPACE = "kube-system"


class MatchCondition(msgspec.Struct, frozen=True):
    """In CEL, which the API server looks at before it asks."""

    name: str
    expression: str


NOT_BOUND = MatchCondition("has-no-node", "!has(object.spec.nodeName) || object.spec.nodeName == ''")
NOT_OF_DAEMON = MatchCondition(
    "is-of-no-daemon-set",
    "!has(object.metadata.ownerReferences) || object.metadata.ownerReferences.all(own, own.kind != 'DaemonSet')",
)
_LIMITED = "own, has(own.resources) && has(own.resources.limits) && own.resources.limits.size() > 0"
LIMITED = MatchCondition(
    "has-limits",
    f"object.spec.containers.exists({_LIMITED})"
    f" || (has(object.spec.initContainers) && object.spec.initContainers.exists({_LIMITED}))"
    " || (has(object.spec.resources) && has(object.spec.resources.limits))",
)
"""CPUs, memory and devices are given away only to who has limits."""
OWNED = MatchCondition(
    "has-a-controller",
    "has(object.metadata.ownerReferences)"
    " && object.metadata.ownerReferences.exists(own, has(own.controller) && own.controller)",
)
"""Only what has one is made again and again."""

PLACE_CONDITIONS = (NOT_BOUND, NOT_OF_DAEMON, LIMITED)
GUARD_CONDITIONS = (NOT_BOUND, NOT_OF_DAEMON, OWNED)


class OtherQuestion(msgspec.Struct, frozen=True):
    """What the same server is asked at another path, about pods of other namespaces or of other sorts."""

    path: str
    label: str
    opt_in: bool
    conditions: tuple[MatchCondition, ...]


class WebhookOptions(msgspec.Struct, frozen=True):
    namespace: str = "numafit"
    """Our own: it has the Service and the Secret, and its pods are never asked about."""
    name: str = PLACER
    """Of the Service and of the configuration; the Secret's has `-webhook` behind it."""
    url: str = ""
    """`https://HOST:PORT`: the API server asks there, and not by a Service."""
    address: str = "0.0.0.0"
    port: int = 9443
    label: str = PLACE_LABEL
    """Of namespaces: `disabled` leaves one out, and with `opt_in` only those are in that have `enabled`."""
    opt_in: bool = False
    conditions: tuple[MatchCondition, ...] = PLACE_CONDITIONS
    also: tuple[OtherQuestion, ...] = ()

    @property
    def secret(self) -> str:
        return f"{self.name}-webhook"

    @property
    def hosts(self) -> tuple[str, ...]:
        """By which the API server reaches it; raises InputError for a URL that is none."""
        if not self.url:
            return (f"{self.name}.{self.namespace}.svc",)
        try:
            found = urlsplit(self.url)
            port = found.port
        except ValueError:
            found, port = urlsplit(""), None
        if (
            found.scheme != "https"
            or not found.hostname
            or port == 0
            or found.query
            or found.fragment
            or found.username
        ):
            cure = "it is https://HOST or https://HOST:PORT"
            raise InputError("this is no address of a webhook", source=f"--url {self.url}", cure=cure)
        return (found.hostname,)
