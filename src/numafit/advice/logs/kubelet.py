"""What a log tells of the kubelet that wrote it: its release, its topology policy and scope, the NUMA nodes it knows.

Some of it the kubelet says when it starts; the rest shows in the style of its lines and in what its merges came to.
"""

import re
from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.advice.logs.lines import (
    ADMISSION_CHECK,
    ADMIT_HANDLER,
    ADMIT_RESULT,
    ALLOCATE_CPUS,
    ALLOCATE_START,
    CONTAINER_HINT,
    CPU_TOPOLOGY,
    CREATED,
    CREATED_NONE,
    DENIED,
    POD_HINT,
    VERSION,
    LogLine,
)
from numafit.advice.logs.values import is_json
from numafit.bits import LARGEST_ID, mask_of
from numafit.errors import InputError
from numafit.ledger.ledger import Hint
from numafit.managers.topology.hint import ProviderHints
from numafit.managers.topology.policy import BEST_EFFORT, NONE, RESTRICTED, SINGLE_NUMA_NODE
from numafit.settings.versions import NEWEST_MINOR, OLDEST_MINOR, KubeVersion, parse_version

HIGHEST_NODE = 63


class LoggedKubelet(msgspec.Struct, frozen=True):
    """One process that wrote to the log."""

    process: int = 0
    version: KubeVersion | None = None
    """Only where the log holds the start of the kubelet."""
    first_minor: int = OLDEST_MINOR
    last_minor: int = NEWEST_MINOR
    """The releases that write such lines."""
    policies: frozenset[str] = frozenset((NONE, BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE))
    """The topology policies that can have been set; one when it is told or shows."""
    scope: str = ""
    prefer_closest: bool | None = None
    """None: not told."""
    numa_nodes: int = 0
    """As far as masks and start-up lines show them."""
    providers: int = 0
    """How many hint providers it has: the most that were seen in one merge."""
    cpus: Mapping[int, int] = {}
    """NUMA node -> its CPUs, from the start-up line of the CPU manager."""

    @property
    def policy(self) -> str:
        """Empty where more than one is possible."""
        return next(iter(self.policies)) if len(self.policies) == 1 else ""


_CPU = re.compile(r'"?(\d{1,5})"?:\{(?:"?NUMANodeID"?:)?(\d{1,2})[ ,]')
"""A CPU and its NUMA node in the three styles: `0:{0 0 0}`, `0:{NUMANodeID:0 …}`, `"0":{"NUMANodeID":0,…}`."""


def learned(kubelet: LoggedKubelet, line: LogLine) -> LoggedKubelet:
    """What one line adds. A line that contradicts what is known changes nothing."""
    first, last = _releases(line)
    first, last = max(first, kubelet.first_minor), min(last, kubelet.last_minor)
    if first <= last and (first, last) != (kubelet.first_minor, kubelet.last_minor):
        kubelet = replace(kubelet, first_minor=first, last_minor=last)
    fields = line.fields
    if line.message == VERSION:
        return _with_version(kubelet, fields.get("kubeletVersion", ""))
    if line.message == CREATED:
        kubelet = replace(kubelet, scope=fields.get("topologyScopeName", ""))
        if "topologyPolicyOptions" in fields:
            closest = '"PreferClosestNUMA":true' in fields["topologyPolicyOptions"]
            kubelet = replace(kubelet, prefer_closest=closest)
        name = fields.get("topologyPolicyName", "")
        return replace(kubelet, policies=frozenset((name,))) if name else kubelet
    if line.message == CREATED_NONE:
        return replace(kubelet, policies=frozenset((NONE,)))
    if line.message == CPU_TOPOLOGY:
        return _with_topology(kubelet, fields.get("topology", ""))
    return kubelet


def learned_from_merge(
    kubelet: LoggedKubelet, scope: str, providers: Sequence[ProviderHints], best: Hint | None, admit: bool | None
) -> LoggedKubelet:
    """Policies that cannot have merged to this are out, and every mask shows NUMA nodes.

    single-numa-node alone stores no mask at all, restricted alone rejects a mask, best-effort alone accepts one that is
    not preferred (kubelet 1.20 to 1.36).
    """
    possible = {BEST_EFFORT, RESTRICTED, SINGLE_NUMA_NODE}
    if best is not None:
        mask, preferred = best
        if mask is None:
            possible = {SINGLE_NUMA_NODE}
        elif not preferred:
            possible = {BEST_EFFORT, RESTRICTED}
            if admit is not None:
                possible = {BEST_EFFORT} if admit else {RESTRICTED}
        elif mask.bit_count() > 1:
            possible = {BEST_EFFORT, RESTRICTED}
    policies = kubelet.policies & possible or kubelet.policies
    nodes = kubelet.numa_nodes | ((best[0] or 0) if best else 0)
    for own in providers:
        for hints in (own or {}).values():
            # Lists of a log are always written out.
            for mask, _ in hints if isinstance(hints, tuple) else ():
                nodes |= mask or 0
    most = max(kubelet.providers, len(providers))
    if (policies, nodes, scope, most) == (kubelet.policies, kubelet.numa_nodes, kubelet.scope, kubelet.providers):
        return kubelet
    return replace(kubelet, policies=policies, numa_nodes=nodes, scope=scope, providers=most)


def _releases(line: LogLine) -> tuple[int, int]:
    """The minors that write a line like this."""
    message, fields = line.message, line.fields
    if line.printf:
        return (20, 20)
    first, last = 20, NEWEST_MINOR
    for key in ("hints", "bestHint"):
        if key in fields and not line.json:
            first, last = (28, NEWEST_MINOR) if is_json(fields[key]) else (21, 27)
    if message in (ADMISSION_CHECK, ADMIT_RESULT):
        first = 33
    elif message in (CONTAINER_HINT, POD_HINT):
        first, last = (33, last) if "pod" in fields else (first, min(last, 32))
    elif message == ADMIT_HANDLER:
        first, last = (25 if "podUID" in fields else 21), 30
    elif message == DENIED:
        first = 36 if "operation" in fields else 31
    elif message == ALLOCATE_START:
        first = 35
    elif message == ALLOCATE_CPUS and "aligned=" in fields.get("result", ""):
        first = 33
    return first, last


def _with_version(kubelet: LoggedKubelet, text: str) -> LoggedKubelet:
    try:
        version = parse_version(text)
    except InputError:
        return kubelet
    return replace(kubelet, version=version, first_minor=version.minor, last_minor=version.minor)


def _with_topology(kubelet: LoggedKubelet, text: str) -> LoggedKubelet:
    cpus: dict[int, int] = {}
    for cpu, node in _CPU.findall(text):
        if int(node) > HIGHEST_NODE or int(cpu) > LARGEST_ID:
            return kubelet
        cpus[int(node)] = cpus.get(int(node), 0) | 1 << int(cpu)
    return replace(kubelet, cpus=dict(sorted(cpus.items())), numa_nodes=kubelet.numa_nodes | mask_of(cpus))
