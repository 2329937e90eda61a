"""Nodes and pods out of what `kubectl get nodes,pods -A -o json` printed: a fleet as it was, to be played again.

Of a node its capacity and its release are told there, of a pod when it was made, who made it, what it asks for, and
when it ended. Pods that a kubelet rejected are left out: their controllers made others, and so does the
simulation. So are static ones, which no scheduler places.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime

import msgspec
from msgspec.structs import replace

from numafit.cluster.live.spec import PodShapes
from numafit.cluster.sim.table import MOST_DEVICES, NodeTable, TableRow, checked_row
from numafit.errors import InputError
from numafit.fleet.simulation.controllers import CONTROLLERS, USUAL
from numafit.fleet.simulation.trace import PodTrace, TracePod
from numafit.notes import Note
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.settings.versions import parse_version
from numafit.workload.api_server import is_extended_name
from numafit.workload.demands import NO_DEMANDS
from numafit.workload.pod import STORAGE, Pod
from numafit.workload.served import ENDED, Life

REJECTED = "dump-rejected-left-out"
WISHES = "dump-wishes-dropped"
STATIC = "dump-static-left-out"
NO_OWNER, NODE_OWNER = "Pod", "Node"
HUGEPAGES, PODS = "hugepages-", "pods"
MOST_PODS = (1 << 31) - 1
"""In the configuration of a kubelet."""


class _Owner(msgspec.Struct, frozen=True):
    kind: str = ""
    controller: bool = False


class _Metadata(msgspec.Struct, frozen=True):
    name: str
    namespace: str = ""
    uid: str = ""
    creationTimestamp: str = ""
    ownerReferences: tuple[_Owner, ...] = ()


class _NodeInfo(msgspec.Struct, frozen=True):
    kubeletVersion: str = ""


class _NodeStatus(msgspec.Struct, frozen=True):
    capacity: Mapping[str, str]
    nodeInfo: _NodeInfo = _NodeInfo()


class _DumpedNode(msgspec.Struct, frozen=True):
    metadata: _Metadata
    status: _NodeStatus


class _Terminated(msgspec.Struct, frozen=True):
    finishedAt: str | None = None


class _State(msgspec.Struct, frozen=True):
    terminated: _Terminated | None = None


class _ContainerStatus(msgspec.Struct, frozen=True):
    state: _State = _State()


class _PodStatus(msgspec.Struct, frozen=True):
    phase: str = ""
    reason: str = ""
    startTime: str | None = None
    containerStatuses: tuple[_ContainerStatus, ...] | None = None


class _DumpedPod(msgspec.Struct, frozen=True):
    metadata: _Metadata
    spec: msgspec.Raw
    status: _PodStatus = _PodStatus()


class _Kind(msgspec.Struct, frozen=True):
    kind: str = ""


class _List(msgspec.Struct, frozen=True):
    items: tuple[msgspec.Raw, ...]


def looks_like_dump(text: str) -> bool:
    """A list of objects; lines of a trace are one object each."""
    return text.lstrip()[:1] == "{" and '"items"' in text and '"apiVersion"' in text


PlacedObjects = Iterable[tuple[str, msgspec.Raw]]
"""Each with its place."""


def dumped_objects(text: str, source: str, kind: str) -> Iterator[tuple[str, msgspec.Raw]]:
    """Those of the kind, each with its place."""
    try:
        items = msgspec.json.decode(text, type=_List).items
        kinds = [msgspec.json.decode(own, type=_Kind).kind for own in items]
    except msgspec.MsgspecError as error:
        cure = "kubectl get nodes,pods -A -o json prints one"
        raise InputError(f"is no list of objects: {error}", source=source, cure=cure) from None
    for number, (own, found) in enumerate(zip(items, kinds, strict=True)):
        if found == kind:
            yield f"{source}: items[{number}]", own


def read_dumped_nodes(text: str, source: str) -> NodeTable:
    """Raises InputError where no node can be read."""
    table = node_table(dumped_objects(text, source, "Node"))
    if not table.rows:
        raise nothing_there(table.skipped, "node", source)
    return table


def node_table(nodes: PlacedObjects) -> NodeTable:
    """There may be no row in it."""
    rows: dict[TableRow, list[str]] = {}
    skipped: list[InputError] = []
    for place, own in nodes:
        try:
            node = msgspec.json.decode(own, type=_DumpedNode)
            rows.setdefault(_row(node.status), []).append(node.metadata.name)
        except (InputError, QuantityError, msgspec.MsgspecError) as error:
            skipped.append(_told(error, place))
    return NodeTable({row: tuple(names) for row, names in rows.items()}, tuple(map(str, skipped)))


def nothing_there(skipped: Sequence[str], what: str, source: str) -> InputError:
    """The error of a source in which none of these can be read."""
    return InputError(skipped[0] if skipped else f"there is no {what} in it", source="" if skipped else source)


def _told(error: Exception, place: str) -> InputError:
    return InputError(error.message if isinstance(error, InputError) else str(error), source=place)


def _row(status: _NodeStatus) -> TableRow:
    amounts = {name: parse_quantity(text) for name, text in status.capacity.items()}
    for name in ("cpu", "memory"):
        if name not in amounts:
            raise InputError(f"its capacity has no {name}")
    for name, amount in amounts.items():
        if amount.sign < 0 or (name == PODS and amount.value() > MOST_PODS):
            raise InputError(f"its capacity has {amount} of {name[:60]}")
    devices = sorted((name, own.value()) for name, own in amounts.items() if is_extended_name(name))
    placed = tuple(own for own in devices if own[1] <= MOST_DEVICES)
    row = checked_row(amounts["cpu"].milli(), amounts["memory"].value() >> 20, placed)
    version = status.nodeInfo.kubeletVersion
    return replace(
        row,
        version=parse_version(version) if version else row.version,
        hugepages=tuple(sorted(_hugepages(amounts))),
        counted=tuple(own for own in devices if own[1] > MOST_DEVICES),
        # Disks of equal machines differ by some blocks.
        storage=amounts[STORAGE].value() >> 30 if STORAGE in amounts else None,
        pods=amounts[PODS].value() if PODS in amounts else None,
    )


def _hugepages(amounts: Mapping[str, Quantity]) -> Iterator[tuple[int, int]]:
    for name, amount in amounts.items():
        if name.startswith(HUGEPAGES):
            size = parse_quantity(name.removeprefix(HUGEPAGES)).value()
            if size <= 0:
                raise InputError(f"{name[:60]} are no pages")
            if amount.value() >= size:
                yield size, amount.value() // size


def read_dumped_pods(text: str, source: str, owner: str = USUAL) -> PodTrace:
    """`owner`: of pods whose controller is of a kind that is not known here. Raises InputError where no pod can be
    read."""
    trace = pod_trace(dumped_objects(text, source, "Pod"), owner)
    if not trace.pods:
        raise nothing_there(trace.skipped, "pod", source)
    return trace


def pod_trace(pods: PlacedObjects, owner: str = USUAL) -> PodTrace:
    """There may be no pod in it."""
    shapes = PodShapes()
    found: list[tuple[datetime, TracePod]] = []
    skipped: list[InputError] = []
    rejected = wishes = static = 0
    for place, raw in pods:
        try:
            dumped = msgspec.json.decode(raw, type=_DumpedPod)
            if Life(phase=dumped.status.phase, reason=dumped.status.reason).rejected:
                rejected += 1
                continue
            if any(own.kind == NODE_OWNER for own in dumped.metadata.ownerReferences):
                static += 1
                continue
            created = _moment(dumped.metadata.creationTimestamp)
            pod = _pod(dumped, shapes)
        except (InputError, ValueError, msgspec.MsgspecError) as error:
            skipped.append(_told(error, place))
            continue
        wishes += bool(pod.demands.selector or pod.demands.affinity)
        # Labels and taints of nodes are not played.
        bare = replace(pod, demands=NO_DEMANDS)
        found.append((created, TracePod(0.0, _run(dumped.status, created), bare, _owner(dumped.metadata, owner))))
    found.sort(key=lambda own: (own[0], own[1].pod.namespace, own[1].pod.name))
    first = found[0][0] if found else None
    made = tuple(replace(own, arrival=(created - first).total_seconds()) for created, own in found if first is not None)
    return PodTrace(made, tuple(_notes(rejected, static, wishes)), tuple(map(str, skipped)))


def _notes(rejected: int, static: int, wishes: int) -> Iterator[Note]:
    if rejected:
        many = "1 pod" if rejected == 1 else f"{rejected} pods"
        yield Note(REJECTED, "trace", f"{many} that a kubelet had rejected left out: others were made in their place")
    if static:
        many = "1 static pod" if static == 1 else f"{static} static pods"
        yield Note(STATIC, "trace", f"{many} left out: nodes made them by themselves, and no scheduler places them")
    if wishes:
        many = "1 pod wants" if wishes == 1 else f"{wishes} pods want"
        yield Note(WISHES, "trace", f"{many} certain nodes by labels, which are not looked at here")


def _moment(text: str) -> datetime:
    found = datetime.fromisoformat(text)
    if found.tzinfo is None:
        raise ValueError(f'"{text[:60]}" has no time zone')
    return found


def _pod(dumped: _DumpedPod, shapes: PodShapes) -> Pod:
    own = dumped.metadata
    uid = own.uid or f"{own.namespace}/{own.name}"
    return shapes.pod(dumped.spec, own.name, own.namespace, uid)


def _run(status: _PodStatus, created: datetime) -> float | None:
    """Of one that has ended: from its start to the end of its last container; nothing where that is not told."""
    if status.phase not in ENDED:
        return None
    begun = _moment(status.startTime) if status.startTime else created
    ends = [own.state.terminated for own in status.containerStatuses or ()]
    finished = [_moment(own.finishedAt) for own in ends if own is not None and own.finishedAt]
    return max((max(finished, default=begun) - begun).total_seconds(), 0.0)


def _owner(metadata: _Metadata, unknown: str) -> str:
    kind = next((own.kind for own in metadata.ownerReferences if own.controller), "")
    return kind if kind in CONTROLLERS else unknown if kind else NO_OWNER
