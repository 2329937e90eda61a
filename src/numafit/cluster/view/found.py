"""The pods that somebody means: `pod/NAME`, `NAME`, `NAMESPACE/NAME`, or what an owner made (`deploy/NAME`)."""

from collections.abc import Callable, Iterable

import msgspec

from numafit.cluster.live.pods import ClusterPod
from numafit.errors import InputError, meant_or_there

POD_WORDS = ("pod", "pods", "po")
OWNER_WORDS = {
    "deploy": "Deployment",
    "deployment": "Deployment",
    "deployments": "Deployment",
    "replicaset": "ReplicaSet",
    "replicasets": "ReplicaSet",
    "rs": "ReplicaSet",
    "statefulset": "StatefulSet",
    "statefulsets": "StatefulSet",
    "sts": "StatefulSet",
    "daemonset": "DaemonSet",
    "daemonsets": "DaemonSet",
    "ds": "DaemonSet",
    "job": "Job",
    "jobs": "Job",
    "cronjob": "CronJob",
    "cronjobs": "CronJob",
    "cj": "CronJob",
}
MADE_BY = {"Deployment": "ReplicaSet", "CronJob": "Job"}
"""Kind -> that of the objects which it makes, and which make pods; their names are its own with a part behind it."""


class PodWords(msgspec.Struct, frozen=True):
    """What somebody wrote."""

    text: str
    namespace: str
    name: str
    kind: str = ""
    """Of the owner; empty for a pod."""


def pod_words(text: str, namespace: str, *, given: bool) -> PodWords:
    """`namespace`: the one that is looked in; `given`: somebody named it, so that the words may not name another."""
    first, slash, name = text.partition("/")
    if not slash:
        return PodWords(text, namespace, first)
    word = first.lower().partition(".")[0]
    if word in POD_WORDS or word in OWNER_WORDS:
        if name.count("/") == 1 and not given:
            namespace, _, name = name.partition("/")
        return PodWords(text, namespace, name, OWNER_WORDS.get(word, ""))
    if given and first != namespace:
        cure = f"write {name}, or leave -n away"
        raise InputError(f"names the namespace {first}, and -n {namespace}", source=text, cure=cure)
    return PodWords(text, first, name)


def pods_meant(words: PodWords, pods: Iterable[ClusterPod]) -> list[ClusterPod]:
    """Of the pods of its namespace, those that run or wait first. Raises InputError where there is none."""
    there = [pod for pod in pods if pod.metadata.namespace == words.namespace]
    is_meant = _owned(words.kind, words.name) if words.kind else _named(words.name)
    found = sorted(filter(is_meant, there), key=lambda pod: (pod.ended, pod.metadata.name))
    if found:
        return found
    if words.kind:
        message = f"there is no pod of a {words.kind} {words.name} in the namespace {words.namespace}"
        owners = sorted({pod.owner.name for pod in there if pod.owner is not None})
        raise InputError(message, cure=meant_or_there(words.name, owners) if owners else "-n names another namespace")
    names = sorted(pod.metadata.name for pod in there)
    cure = meant_or_there(words.name, names) if names else "-n names another namespace"
    raise InputError(f"there is no pod {words.name} in the namespace {words.namespace}", cure=cure)


def _named(name: str) -> Callable[[ClusterPod], bool]:
    return lambda pod: pod.metadata.name == name


def _owned(kind: str, name: str) -> Callable[[ClusterPod], bool]:
    between = MADE_BY.get(kind)

    def is_owned(pod: ClusterPod) -> bool:
        owner = pod.owner
        if owner is None:
            return False
        if between is None:
            return (owner.kind, owner.name) == (kind, name)
        return owner.kind == between and owner.name.rpartition("-")[0] == name

    return is_owned
