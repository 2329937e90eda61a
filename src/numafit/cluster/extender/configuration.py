"""The configuration of a kube-scheduler that asks an extender: `kubescheduler.config.k8s.io/v1`."""

from urllib.parse import urlsplit

import msgspec
import yaml

from numafit.cluster.https.messages import is_loopback
from numafit.cluster.kube.objects import ObjectJson
from numafit.errors import InputError

API_VERSION = "kubescheduler.config.k8s.io/v1"
DEFAULT_SCHEDULER = "default-scheduler"
FILTER, PRIORITIZE = "filter", "prioritize"
"""Verbs: the last words of the addresses that a scheduler asks."""
ALL_NODES = 100
COST = (
    f"percentageOfNodesToScore is {ALL_NODES}: the scheduler looks at every node for each pod, since an extender is "
    "asked only about nodes that were looked at, and a pod would wait while the node for it is never asked. By default "
    "it stops when enough nodes fit. Up to about 100 nodes there is no difference; with 5,000 nodes scheduling took "
    "five to six times as long"
)


class ExtenderTls(msgspec.Struct, frozen=True):
    """Files as the scheduler sees them."""

    authority: str
    """Of the extender's certificate."""
    certificate: str
    key: str
    """The scheduler's own."""


class SchedulerConfig(msgspec.Struct, frozen=True):
    url: str
    tls: ExtenderTls | None = None
    seconds: float = 2.0
    """A scheduler waits so long for an answer, and goes on without it."""
    prioritize: bool = False
    weight: int = 5
    kubeconfig: str = ""
    """As the scheduler sees it; empty: the account of its pod."""
    scheduler: str = DEFAULT_SCHEDULER
    lease_namespace: str = ""
    """Where the lease of its leader is, of the scheduler's name; empty: as without a configuration."""


def configuration(config: SchedulerConfig) -> ObjectJson:
    """Raises InputError for an address that no scheduler can ask so."""
    content: ObjectJson = {
        "apiVersion": API_VERSION,
        "kind": "KubeSchedulerConfiguration",
        "percentageOfNodesToScore": ALL_NODES,
        "profiles": [{"schedulerName": config.scheduler}],
        "extenders": [_extender(config)],
    }
    if config.kubeconfig:
        content["clientConnection"] = {"kubeconfig": config.kubeconfig}
    if config.lease_namespace:
        content["leaderElection"] = {
            "leaderElect": True,
            "resourceName": config.scheduler,
            "resourceNamespace": config.lease_namespace,
        }
    return content


def _extender(config: SchedulerConfig) -> ObjectJson:
    own: ObjectJson = {"urlPrefix": checked_url(config), "filterVerb": FILTER}
    if config.prioritize:
        own |= {"prioritizeVerb": PRIORITIZE, "weight": config.weight}
    if config.tls is not None:
        files = {"caFile": config.tls.authority, "certFile": config.tls.certificate, "keyFile": config.tls.key}
        own |= {"enableHTTPS": True, "tlsConfig": files}
    # Names suffice. Without an answer scheduling goes on. No managedResources: they can be extended resources only, and
    # pods with nothing but CPUs and memory need a decision, too.
    return own | {"httpTimeout": f"{config.seconds:g}s", "nodeCacheCapable": True, "ignorable": True}


def checked_url(config: SchedulerConfig) -> str:
    parts = urlsplit(config.url)
    source = "--url"
    if parts.scheme not in ("http", "https") or not parts.hostname:
        cure = "https://HOST:PORT, or http://127.0.0.1:PORT"
        raise InputError(f"this is no address of an extender: {config.url}", source=source, cure=cure)
    if parts.scheme == "https" and config.tls is None:
        cure = "--authority, --client-certificate and --client-key name them, as the scheduler sees them"
        raise InputError("for https a scheduler needs three files", source=source, cure=cure)
    if parts.scheme == "http":
        if config.tls is not None:
            raise InputError("certificates go with https only", source=source)
        if not is_loopback(parts.hostname):
            why = f"without TLS everybody between it and {parts.hostname} could choose the nodes of pods"
            raise InputError(why, source=source, cure="take https, or an extender on the scheduler's own host")
    return config.url.rstrip("/")


def configuration_text(config: SchedulerConfig) -> str:
    """YAML, with what it costs in front."""
    return comment(COST) + yaml.safe_dump(configuration(config), sort_keys=False)


def comment(text: str) -> str:
    lines, line = [], "#"
    for word in text.split():
        if len(line) + 1 + len(word) > 110:
            lines.append(line)
            line = "#"
        line += f" {word}"
    return "\n".join([*lines, line]) + "\n"
