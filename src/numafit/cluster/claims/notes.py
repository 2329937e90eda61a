"""Pods that have devices by claims and exclusive CPUs: told with where both lie, as far as that is known."""

from collections.abc import Iterator, Mapping, Sequence

from msgspec.structs import replace

from numafit.bits import cpuset_text, mask_of, parse_cpuset
from numafit.cluster.topology.model import ClaimedDevice
from numafit.decision.held import holding_of
from numafit.decision.stage import Stage
from numafit.errors import some_of
from numafit.managers.ask import ask_of
from numafit.notes import Note
from numafit.workload.pod import Pod, Unread
from numafit.workload.unread import CLAIMS_NOT_ALIGNED, NOBODY_ALIGNS

MOST_DEVICES = 3

Claims = Mapping[str, Sequence[ClaimedDevice]]
"""Pod UID -> the devices that claims give to it."""


def with_claims(stage: Stage, claims: Claims) -> Stage:
    """Pods that come say in the note that they bring along anyway where their devices are; those that are there get a
    note of their own."""
    if not claims or not stage.node.cpu.static:
        return stage
    pods = tuple(_known_devices(pod, claims.get(pod.uid, ())) for pod in stage.pods)
    return replace(stage, pods=pods, notes=(*stage.notes, *_resident_notes(stage, claims)))


def _known_devices(pod: Pod, devices: Sequence[ClaimedDevice]) -> Pod:
    if not devices or not any(each.code == CLAIMS_NOT_ALIGNED for each in pod.unread):
        return pod
    told = Unread(CLAIMS_NOT_ALIGNED, f"it has {devices_text(devices)} by claims, and exclusive CPUs: {NOBODY_ALIGNS}")
    return replace(pod, unread=tuple(told if each.code == CLAIMS_NOT_ALIGNED else each for each in pod.unread))


def _resident_notes(stage: Stage, claims: Claims) -> Iterator[Note]:
    coming = {pod.uid for pod in stage.pods}
    for uid, pod in stage.ledger.active.items():
        devices = claims.get(uid, ())
        if not devices or uid in coming:
            continue
        cpus = holding_of(stage.node, stage.ledger, uid).cpus
        if cpus:
            nodes = mask_of(numa for numa, own in stage.node.cpu.topology.numa_nodes.items() if own & cpus)
            yield Note(CLAIMS_NOT_ALIGNED, pod.known_name, _where(nodes, devices))
        elif any(ask_of(pod, stage.node.settings).cpus.values()):
            text = f"it has {devices_text(devices)} by claims, and exclusive CPUs: {NOBODY_ALIGNS}"
            yield Note(CLAIMS_NOT_ALIGNED, pod.known_name, text)


def _where(nodes: int, devices: Sequence[ClaimedDevice]) -> str:
    apart = [own for own in devices if own.numa is not None and not parse_cpuset(own.numa) & nodes]
    cpus = f"its exclusive CPUs lie on {_nodes_text(cpuset_text(nodes))}"
    if apart:
        return f"{cpus}, and {devices_text(apart)} that claims give to it: {NOBODY_ALIGNS}"
    unknown = all(own.numa is None for own in devices)
    luck = "" if unknown else ", by luck near each other"
    return f"{cpus}, and claims give {devices_text(devices)} to it{luck}: {NOBODY_ALIGNS}"


def devices_text(devices: Sequence[ClaimedDevice]) -> str:
    """`gpu-3 of gpu.nvidia.com on NUMA node 1`."""
    texts = [
        f"{own.device} of {own.driver}" + ("" if own.numa is None else f" on {_nodes_text(own.numa)}")
        for own in devices
    ]
    return some_of(texts, MOST_DEVICES)


def _nodes_text(nodes: str) -> str:
    return f"NUMA node {nodes}" if nodes.isdigit() else f"NUMA nodes {nodes}"
