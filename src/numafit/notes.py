"""What an answer stands on: what was assumed, left out or not known on the way to it.

A note travels with the value that it is about, from the room that knows it to the end of the answer. It is no error:
the answer holds if the note does not matter to the reader, and `--strict` is for readers to whom every note does.
"""

from collections.abc import Sequence

import msgspec


class Note(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    code: str
    """One of NOTE_CODES."""
    about: str
    """`machine`, `kubelet`, `node`, a file, the `namespace/name` of a pod, or `pods` of several that are left out; for
    an event of a run `event 3`."""
    text: str
    """One sentence without its full stop: what is not sure, and what to give instead where something can be given."""


def notes_by_subject(notes: Sequence[Note]) -> dict[str, tuple[Note, ...]]:
    """What they are about -> the notes about it, in their order."""
    found: dict[str, list[Note]] = {}
    for note in notes:
        found.setdefault(note.about, []).append(note)
    return {about: tuple(own) for about, own in found.items()}


NOTE_CODES = {
    # the machine
    "cpus-unknown": "there may be more CPUs than the source lists",
    "cpu-numbers-guessed": "no source tells the numbers of the CPUs, only how many each NUMA node has",
    "cores-guessed": "no source tells which CPUs are threads of one core",
    "sockets-guessed": "no source tells which CPUs share a socket",
    "numa-guessed": "no source tells for certain which CPUs are on which NUMA node",
    "caches-guessed": "no source tells which CPUs share an uncore cache",
    "distances-guessed": "no source tells the distances between the NUMA nodes",
    "memory-unknown": "no source tells the whole memory of a NUMA node",
    "hugepages-unknown": "no source tells the huge pages of the NUMA nodes",
    "device-ids-guessed": "no source tells the ids of all devices, only how many each NUMA node has",
    "devices-guessed": "no source tells what the device plugin says of the NUMA nodes of devices",
    "links-guessed": "no source tells how all GPUs are linked",
    "machine-assumed": "the description of the machine calls something assumed, by a word that numafit does not know",
    "sources-disagree": "two sources tell different things of the machine; the first is believed",
    # the kubelet
    "release-assumed": "nobody said which release the kubelet has",
    "kubelet-assumed": "no configuration was given; an example stands for it",
    "field-ignored": "a field that only later releases know is left out, as the kubelet does",
    "file-not-read": "flags name a file or folder that was not given",
    "flags-not-told": "the source of the configuration cannot tell flags that stand outside it",
    "kubelet-of-cluster": "the configuration is that of a cluster; a node may have its own flags and patches",
    "drop-ins-alpha": "kubelets 1.28 and 1.29 read drop-in files only with an environment variable",
    "device-state-unread": "the kubelet goes on without its device manager's file",
    # the node
    "node-partly-known": "the cluster does not tell something of its node: its configuration, its pods, its topology",
    "holder-not-there": "a holder that was to be taken away is not there",
    "node-not-learnt": "the agent of a node could not learn something of it: devices, configuration, state",
    "node-disagrees": "the Node object shows another release, capacity or offer than what was given makes",
    "topology-not-used": "what numafit's agent tells of its node is not used, or not all of it",
    "kubelet-disagrees": "the kubelet answers with another configuration than numafit's agent on its node tells",
    "node-was-otherwise": "a pod that runs is rejected here, or one that was rejected is not: the node was another",
    # a log
    "log-cut": "the log ends in the middle, and what comes before that is told",
    "log-without-admissions": "nothing in the log tells of an admission",
    # a past
    "past-not-played": "log or objects tell of something that cannot be played, or not in full",
    "past-pod-unknown": "log or objects tell of a pod whose manifest was not given",
    # the pods
    "kind-skipped": "an object of a kind without pods, or of one that is not known",
    "pod-left-out": "a pod that is not played, and why",
    "pod-unbound": "a pod of a list from a server has no node, and is played as if it came to this one",
    "resource-not-offered": "the kubelet drops a resource that no device plugin offers, and admits the pod",
    "claim-not-decided": "resource claims (DRA) are not decided here",
    "claim-not-aligned": "a container has devices by resource claims (DRA) and exclusive CPUs, which nobody aligns",
    "pod-level-dropped": "resources of the pod as a whole are dropped where their gate is off",
    "ports-not-checked": "host ports are not compared with those of pods of which only the state is known",
    "selectors-not-checked": "node selectors, affinities and tolerations are not compared with an unknown node",
    "scheduling-not-played": "something of a pod is for the scheduler alone, which is not played",
    "storage-not-checked": "ephemeral-storage is not compared with an unknown disk",
    "overhead-unknown": "a runtime class may bring an overhead, which is not counted",
    "priority-unknown": "the priority of a pod is not known, since its PriorityClass was not given",
    "pods-replayed": "pods that run are decided again, since nothing tells what they hold",
    "count-guessed": "how many pods an object makes is a guess",
    "containers-added": "a controller adds containers to a pod that its template does not show",
    # the run
    "event-without-effect": "an event of a run has no effect, or not on all of its pods; or there is none",
    "kubelet-not-started": "the kubelet does not start again at an event of the run",
    "kubelet-down": "the kubelet is down at the end of a run, and pods that came meanwhile are not decided",
    "run-ended": "the kubelet crashes here, and later pods are not decided",
    "left-to-chance": "the kubelet leaves the outcome to chance; one of the possible ones is shown",
    "cpu-numbers-matter": "the decision depends on a guess about the numbers of the CPUs",
    "cpu-numbers-made-up": "the numbers of the CPUs that the pod gets are made up, not how many and on which NUMA node",
    "tried-on-guess": "proposals are tried on the machine as it is guessed, and not on others that it may be",
    "advice-cut-short": "not all that might help was tried, or not for all pods, since that would have taken too long",
    "cores-matter": "the decision depends on a guess about the cores",
    "sockets-matter": "the decision depends on a guess about the sockets",
    "numa-matters": "the decision depends on a guess about the NUMA nodes of the CPUs",
    "caches-matter": "the decision depends on a guess about the uncore caches",
    "distances-matter": "the decision depends on a guess about the distances between NUMA nodes",
    # a fleet in time
    "dump-rejected-left-out": "pods that a kubelet rejected are no part of a trace out of what kubectl printed",
    "dump-static-left-out": "static pods out of what kubectl printed are left out: no scheduler places them",
    "dump-wishes-dropped": "node selectors and affinities of pods out of what kubectl printed are not looked at",
    "nodes-devices-counted": "of a resource a node has so much that it is counted, and placed on no NUMA node",
    "nodes-kubelet-assumed": "how the kubelets of a table of nodes are configured is assumed",
    "nodes-numa-assumed": "of how many NUMA nodes the rows of a table of nodes are made is assumed",
    "trace-gpu-shared": "pods of a trace ask for parts of GPUs, and get whole ones",
}
"""Code -> what it tells, as docs/notes.md lists them."""

GUESS_MATTERS = frozenset(
    {
        "cpu-numbers-matter",
        "cpu-numbers-made-up",
        "cores-matter",
        "sockets-matter",
        "numa-matters",
        "caches-matter",
        "distances-matter",
    }
)
"""Notes of pods that would be shown otherwise if a guess about the machine is wrong."""
