"""Log lines of kubelet 1.20, which prints sentences: the messages and fields that later releases write instead."""

import re

Found = tuple[str, dict[str, str]]

_POD = r"(?P<name>[^\s_'\"(]+)_(?P<namespace>[^\s_'\"(]+)\((?P<podUID>[^()\s]*)\)"
_TOPOLOGY = r"\[topologymanager\] "
_CPU = r"\[cpumanager\] "

_CONTAINER = r"(?P<containerName>[^)']*)"

_PATTERNS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (message, re.compile("".join(parts)))
    for message, *parts in (
        ("Topology Admit Handler", _TOPOLOGY, r"Topology Admit Handler"),
        (
            "TopologyHints",
            _TOPOLOGY,
            rf"TopologyHints for pod '{_POD}'(?:, container '{_CONTAINER}')?: (?P<hints>.*)",
        ),
        ("ContainerTopologyHint", _TOPOLOGY, r"ContainerTopologyHint: (?P<bestHint>.*)"),
        ("PodTopologyHint", _TOPOLOGY, r"PodTopologyHint: (?P<bestHint>.*)"),
        (
            "Best TopologyHint",
            _TOPOLOGY,
            rf"Best TopologyHint for \(pod: {_POD}(?: container: {_CONTAINER})?\): (?P<bestHint>.*)",
        ),
        (
            "Topology Affinity",
            _TOPOLOGY,
            rf"Topology Affinity for \(pod: {_POD} container: {_CONTAINER}\): (?P<bestHint>.*)",
        ),
        (
            "Hint Provider has no preference for NUMA affinity with resource",
            _TOPOLOGY,
            r"Hint Provider has no preference for NUMA affinity with resource '(?P<resource>[^']*)'",
        ),
        (
            "Creating topology manager with policy per scope",
            _TOPOLOGY,
            r"Creating topology manager with (?P<topologyPolicyName>\S+) policy per (?P<topologyScopeName>\S+) scope",
        ),
        ("Static policy: Allocate", _CPU, rf"static policy: Allocate \(pod: {_POD}, container: {_CONTAINER}\)"),
        ("AllocateCPUs", _CPU, r"allocateCpus: \(numCPUs: (?P<numCPUs>\d+), socket: (?P<socket>[^)]*)\)"),
        ("AllocateCPUs", _CPU, r'allocateCPUs: returning "(?P<result>[^"]*)"'),
        (
            "Updated desired CPUSet",
            _CPU,
            r"updated desired cpuset \(pod: (?P<podUID>[^,]*), container: (?P<containerName>[^,]*), ",
            r'cpuset: "(?P<cpuSet>[^"]*)"\)',
        ),
        ("Detected CPU topology", _CPU, r"detected CPU topology: (?P<topology>.*)"),
        ("SyncLoop ADD", r'SyncLoop \(ADD, "[^"]*"\): "(?P<pods>[^"]*)"'),
        (
            "Making allocation request for device plugin",
            r"Making allocation request for devices (?P<devices>\[[^\]]*\]) for device plugin (?P<resourceName>\S+)",
        ),
        (
            "Pod was deleted and then recreated, skipping status update",
            rf'Pod "{_POD}" was deleted and then recreated, skipping status update; ',
            r'old UID "(?P<oldPodUID>[^"]*)", new UID "(?P<newUID>[^"]*)"',
        ),
        ("Patch status for pod", rf'Patch status for pod "{_POD}" with "(?P<patch>.*)"'),
        ("Predicate failed on Pod", rf"Predicate failed on Pod: {_POD}, for reason: (?P<err>.*)"),
        ("Kubelet version", r"Version: (?P<kubeletVersion>v1\.\S+)"),
    )
)

PRINTF_STARTS = frozenset((b"[topo", b"[cpum", b"SyncL", b"Makin", b'Pod "', b"Patch", b"Predi", b"Versi"))
"""How those lines begin, cheap to look up."""


def parse_printf(text: str) -> Found | None:
    for message, pattern in _PATTERNS:
        match = pattern.fullmatch(text)
        if match is not None:
            fields = {key: value for key, value in match.groupdict().items() if value is not None}
            if "name" in fields:
                fields["pod"] = f"{fields.pop('namespace')}/{fields.pop('name')}"
            if "patch" in fields:
                fields["patch"] = fields["patch"].replace('\\"', '"').replace("\\\\", "\\")
            return message, fields
    return None
