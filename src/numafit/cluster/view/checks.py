"""Configuration and release of every node: what is wrong with which, equal findings as one."""

import json
from collections.abc import Collection, Iterator
from typing import Any

from msgspec.structs import replace

from numafit.advice.inspection.text import kubelet_text
from numafit.advice.lint.findings import Finding
from numafit.advice.lint.kubelet.kubelet import lint_kubelet
from numafit.cluster.live.nodes import ClusterNode
from numafit.cluster.topology.model import KIND, NodeTopology
from numafit.cluster.topology.restore import kubelet_text as written
from numafit.cluster.topology.restore import machine_of, release_of
from numafit.cluster.view.seen import ClusterView
from numafit.errors import InputError
from numafit.fleet.look.findings import FleetCheckup, KubeletGroup, NodeFinding, grouped
from numafit.fleet.look.pools import PoolMember, pool_findings, pool_label
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import parse_version
from numafit.show.words import summary_text

AGENT_LABEL, AGENT_NAME = "app.kubernetes.io/name", "numafit-node-agent"
LINUX_LABEL = "kubernetes.io/os"
DIGESTS = ("status.digest", "status.machineDigest")
COMPARED = ("cpu", "memory", "pods")

NO_TOPOLOGY = NodeFinding(
    "no-topology",
    "warning",
    f"has no {KIND}: nobody tells how it stands, and nothing is decided about it",
    "let numafit's agent run there: numafit node-agent --manifest",
)
AGENT_DOWN = NodeFinding(
    "agent-not-running",
    "error",
    f"has no {KIND}, though a pod of numafit's agent is bound to it: that does not run",
    "look at its log: kubectl logs, kubectl describe",
)
CHANGED = NodeFinding(
    "topology-changed",
    "error",
    f"its {KIND} was changed by others than its agent, or is damaged: its digest is not that of its contents",
    "apply the definition that belongs to the agent; the agent writes the object anew when it is deleted",
)
STALE = NodeFinding(
    "agent-stale",
    "error",
    f"its {KIND} is older than the node: pods run that it does not have, or it has pods that are not there any more",
    "is the agent there, and may it write? Look at its log",
)
OTHER_RELEASE = NodeFinding(
    "release-differs",
    "error",
    f"its kubelet has another release than its {KIND} tells: that was written before an upgrade",
    "is the agent there? It writes the object anew when the kubelet starts",
)
NO_NODE = NodeFinding("no-node", "warning", f"there is a {KIND} of this name and no Node", "delete it")
NOT_READY = NodeFinding("not-ready", "warning", "is not ready: what is told of it may be old")


def checkup_of(view: ClusterView, stale: Collection[str] = ()) -> FleetCheckup:
    """`stale`: nodes whose reports are older than they are."""
    found = [*_nodes(view), *((name, STALE) for name in stale), *_Topologies(view).findings()]
    found += pool_findings(list(_members(view)))
    return FleetCheckup(len(view.book.nodes), len(view.book.fleet.nodes), _kubelets(view), grouped(found))


def _nodes(view: ClusterView) -> Iterator[tuple[str, NodeFinding]]:
    agents = {pod.node for pod in view.book.pods.values() if pod.metadata.labels.get(AGENT_LABEL) == AGENT_NAME}
    for name, node in view.book.nodes.items():
        if not node.ready:
            yield name, NOT_READY
        if name in view.refused:
            yield name, _refused(view.refused[name])
        elif name not in view.topologies and node.labels.get(LINUX_LABEL, "linux") == "linux":
            yield name, AGENT_DOWN if name in agents else NO_TOPOLOGY
    for name in {*view.topologies, *view.refused} - view.book.nodes.keys():
        yield name, NO_NODE


def _refused(error: InputError) -> NodeFinding:
    """Why an object cannot be used, without what is another on each node."""
    if error.field in DIGESTS:
        return CHANGED
    too_new = error.field == "status.format" or "is not understood" in error.message
    code = "topology-too-new" if too_new else "topology-unusable"
    field = f"{error.field}: " if error.field else ""
    return NodeFinding(code, "error", f"its {KIND} cannot be used: {field}{error.message}", error.cure)


class _Topologies:
    def __init__(self, view: ClusterView) -> None:
        self.view = view
        self.linted: dict[str, tuple[NodeFinding, ...]] = {}

    def findings(self) -> Iterator[tuple[str, NodeFinding]]:
        for name, topology in self.view.topologies.items():
            node = self.view.book.nodes.get(name)
            if node is None:
                continue
            found = [*_disagreements(self.view, node, topology), *_told(topology), *self._lint(topology)]
            yield from ((name, finding) for finding in found)

    def _lint(self, topology: NodeTopology) -> tuple[NodeFinding, ...]:
        """Once for nodes of one machine, configuration and release."""
        status = topology.status
        key = json.dumps((status.machine_digest, status.release, status.kubelet), sort_keys=True)
        if key not in self.linted:
            version = release_of(topology)
            file = ConfigFile("kubelet", written(topology))
            text = kubelet_text(ConfigSources(file), version)
            found = lint_kubelet(text, version, machine_of(topology)).findings
            self.linted[key] = tuple(_linted(each) for each in found)
        return self.linted[key]


def _linted(finding: Finding) -> NodeFinding:
    return NodeFinding(finding.code, finding.severity, finding.message, finding.cure)


def _disagreements(view: ClusterView, node: ClusterNode, topology: NodeTopology) -> Iterator[NodeFinding]:
    if node.release and not _same_release(node.release, topology.status.release):
        yield OTHER_RELEASE
    state = view.book.fleet.nodes[node.name].state if node.name in view.book.fleet.nodes else None
    if state is None or state.allocatable is None:
        return
    names = [
        name
        for name in COMPARED
        if name in node.allocatable and name in state.allocatable and node.allocatable[name] != state.allocatable[name]
    ]
    if names:
        text = f"the Node tells another allocatable {', '.join(names)} than machine and configuration make"
        cure = "what its agent could not learn, or a kubelet that was not started again after a change"
        yield NodeFinding("allocatable-differs", "warning", text, cure)


def _same_release(one: str, other: str) -> bool:
    try:
        return parse_version(one) == parse_version(other)
    except InputError:
        return one == other


def _told(topology: NodeTopology) -> Iterator[NodeFinding]:
    for note in topology.status.notes:
        yield NodeFinding(note.code, "info", f"{note.about}: {note.text}")
    for own in topology.status.devices:
        if own.unhealthy:
            text = f"{len(own.unhealthy)} of {len(own.devices)} {own.resource} are not healthy"
            yield NodeFinding("devices-unhealthy", "warning", text)
        if not own.connected:
            text = f"the device plugin of {own.resource} is not there"
            yield NodeFinding("plugin-gone", "warning", text, "is its pod on the node, and does it run?")


def _members(view: ClusterView) -> Iterator[PoolMember]:
    first: dict[str, str] = {}
    machines: dict[str, str] = {}
    for name, topology in sorted(view.topologies.items()):
        node = view.book.nodes.get(name)
        if node is None:
            continue
        status = topology.status
        alike = first.setdefault(status.machine_digest, name)
        pool = pool_label(node.labels) or f"the machines like {alike}"
        if status.machine_digest not in machines:
            machines[status.machine_digest] = summary_text(machine_of(topology))
        told = {"release": status.release, "machine": machines[status.machine_digest], **_fields(status.kubelet)}
        yield PoolMember(name, pool, told)


def _fields(kubelet: dict[str, Any]) -> dict[str, str]:
    """Each as a text; those inside of others by both names. `Any`: the values of a configuration."""
    found: dict[str, str] = {}
    for name, value in kubelet.items():
        if isinstance(value, dict):
            found |= {f"{name}.{inner}": str(own) for inner, own in value.items()}
        else:
            found[name] = value if isinstance(value, str) else json.dumps(value, sort_keys=True)
    return found


def _kubelets(view: ClusterView) -> tuple[KubeletGroup, ...]:
    found: dict[KubeletGroup, list[str]] = {}
    for name in view.book.fleet.nodes:
        status = view.topologies[name].status
        fields = ("cpuManagerPolicy", "memoryManagerPolicy", "topologyManagerPolicy", "topologyManagerScope")
        cpu, memory, policy, scope = (str(status.kubelet.get(field, "-")) for field in fields)
        found.setdefault(KubeletGroup(status.release, cpu, memory, policy, scope), []).append(name)
    groups = [replace(group, nodes=tuple(sorted(names))) for group, names in found.items()]
    return tuple(sorted(groups, key=lambda own: (-len(own.nodes), own.nodes)))
