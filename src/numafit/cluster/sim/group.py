"""Kubelets out of groups: a group is started once, and its nodes share all that is equal."""

import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import msgspec
from msgspec.structs import replace

from numafit.cluster.sim.file import SimulatedGroup
from numafit.cluster.sim.kubelet import RECONCILE_SECONDS, SimulatedKubelet
from numafit.cluster.sim.node_object import STORAGE, NodeMark, node_labels
from numafit.cluster.sim.state import StateFolder
from numafit.cluster.sim.status import StatusStyle, style_of
from numafit.decision.history.situation import Situation, situation_of
from numafit.decision.start import Start, again, start
from numafit.document import read_document
from numafit.errors import InputError, KubeletError, StartError
from numafit.golang.text import parse_duration
from numafit.ledger.state_files import read_state_files
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.eviction import thresholds
from numafit.settings.facts import NodeFacts
from numafit.settings.read.forms import config_document
from numafit.settings.read.loader import ConfigFile, ConfigSources, refuse_unknown
from numafit.settings.versions import KubeVersion, behaviour_of

SHORTEST_RECONCILE = 0.1
"""Of a loop that never rests there would be thousands in one process."""


class SimulatedNode(msgspec.Struct, frozen=True):
    """A kubelet with what is said of its node beside it."""

    kubelet: SimulatedKubelet
    mark: NodeMark
    style: StatusStyle
    sockets: bool = False
    state: StateFolder | None = None
    config: KubeletConfig | None = None
    """Of nodes whose NodeTopology is published."""


def simulated_nodes(groups: Iterable[SimulatedGroup], state: Path | None) -> Iterator[SimulatedNode]:
    """`state`: where each node has a folder of its own. Raises InputError where a kubelet would not start."""
    number = 0
    for group in groups:
        known = _started(group)
        style = style_of(known.settings)
        reconcile = _reconcile_seconds(group)
        for name in group.names:
            folder = None if state is None else state / name
            situation = _situation(group, known, name, folder)
            kubelet = SimulatedKubelet(
                name, situation, number=number, start_seconds=group.start_seconds, reconcile_seconds=reconcile
            )
            own = None if folder is None else StateFolder(folder)
            config = known.config if group.topology else None
            yield SimulatedNode(kubelet, group.mark, style, group.sockets, own, config)
            number += 1


def idle_situation(group: SimulatedGroup) -> Situation:
    """A node of the group with nobody on it, whatever it is called. Raises InputError where a kubelet would not
    start."""
    known = _started(group)
    return situation_of(known.node, known.ledger, known.allocatable)


def reconfigured(group: SimulatedGroup, fields: Mapping[str, object]) -> SimulatedGroup:
    """With these fields of the kubelet's configuration instead of its own. Raises InputError where that cannot be
    read."""
    if group.config is None:
        whole: dict[object, object] = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}
    else:
        value = read_document(group.config.text, group.config.name).value
        whole = dict(value) if isinstance(value, dict) else {}
    name = group.config.name if group.config is not None else f"kubelet of {group.name}"
    return replace(group, config=ConfigFile(name, json.dumps({**whole, **fields}, indent=1)))


def check_groups(groups: Iterable[SimulatedGroup]) -> None:
    """Raises InputError where a kubelet would not start, before there is a cluster for it."""
    for group in groups:
        _started(group)


def _started(group: SimulatedGroup) -> Start:
    known = Start(version=group.version, sources=ConfigSources(group.config), machine=group.machine)
    if group.plugins is not None:
        known = replace(known, plugins=dict(group.plugins))
    try:
        known = start(known, "valid")
        _refuse_unknown(group, known)
        offers = {STORAGE: storage_left(known.valid, group.mark.storage, group.version), **group.mark.offers}
        return start(replace(known, facts=NodeFacts(taints=group.mark.taints, offers=offers)))
    except StartError as error:
        raise _not_starting(group.name, error) from None


def _refuse_unknown(group: SimulatedGroup, known: Start) -> None:
    """Without its line, which is not one of the user's where the configuration stands in the file of nodes."""
    try:
        refuse_unknown(known.merged, known.version)
    except InputError as error:
        source = group.config.name if group.config is not None else ""
        raise InputError(error.message, source=source, field=error.field, cure=error.cure) from None


def _situation(group: SimulatedGroup, known: Start, name: str, folder: Path | None) -> Situation:
    facts = replace(known.facts, name=name, labels=node_labels(name, group.mark.labels))
    node = replace(known.node, facts=facts)
    # Where there are sockets, real plugins register; whatever the machine has, nobody did that yet.
    ledger = known.restored if group.sockets else known.ledger
    files = {} if folder is None else read_state_files(folder)
    if files:
        try:
            found = start(again(node, files, allocatable=known.allocatable, active={}))
            ledger = found.restored if group.sockets else found.ledger
        except StartError as error:
            raise _not_starting(f"{name} over {folder}", error) from None
    situation = situation_of(node, ledger, known.allocatable)
    return replace(situation, plugins={}) if group.sockets else situation


def _reconcile_seconds(group: SimulatedGroup) -> float:
    """As the configuration says it, which a kubelet has started with. Zero is the default, as for a kubelet."""
    own = group.config
    fields = config_document(own.text, own.name, group.version).document.value if own is not None else None
    text = fields.get("cpuManagerReconcilePeriod") if isinstance(fields, dict) else None
    seconds = parse_duration(text) / 1e9 if isinstance(text, str) and text else 0.0
    return max(seconds, SHORTEST_RECONCILE) if seconds else RECONCILE_SECONDS


def _not_starting(what: str, error: StartError) -> InputError:
    cure = "`numafit lint` says what is wrong with a configuration, `numafit doctor` what with state files"
    return InputError(f"the kubelet of {what} does not start: {error.message}", cure=cure)


def storage_left(config: KubeletConfig, whole: Quantity, version: KubeVersion) -> Quantity:
    """For pods: without what is reserved, and what is kept free before anybody is evicted."""
    left = whole
    for reserved in (config.kube_reserved, config.system_reserved):
        if STORAGE in reserved:
            left -= parse_quantity(reserved[STORAGE])
    if not config.ignore_eviction:
        try:
            kept = thresholds(config.eviction_hard, behaviour_of(version)).get("nodefs.available")
        except KubeletError:
            # The start has told, or will tell, what is wrong with it.
            kept = None
        if isinstance(kept, Quantity):
            left -= kept
        elif kept is not None:
            left -= Quantity(int(float(whole.value()) * kept))
    return left if left.sign >= 0 else Quantity(0)
