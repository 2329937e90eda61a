"""The state files that the kubelet would have on disk now, byte for byte; made when asked for, not at every step."""

from collections.abc import Mapping

from numafit.bits import cpuset_text
from numafit.decision.node import Node
from numafit.ledger.files.cpu import RESIZE_GATE, CpuFile, cpu_bytes
from numafit.ledger.files.device import DeviceEntry, DeviceFile, device_bytes
from numafit.ledger.files.memory import memory_bytes
from numafit.ledger.ledger import CpuLedger, DeviceLedger, Ledger, MemoryFile, MemoryLedger
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE


def state_files(node: Node, ledger: Ledger, since: Ledger | None = None) -> dict[str, str]:
    """File name -> text. A file that was never written is missing; so is one that cannot have changed since `since`."""
    files = {}
    if since is None or ledger.cpu is not since.cpu:
        files[CPU_FILE] = _cpu_text(node, ledger.cpu)
    if node.memory is not None and (since is None or ledger.memory is not since.memory):
        files[MEMORY_FILE] = _memory_text(node, ledger.memory)
    if since is None or ledger.device.written is not since.device.written:
        device = _device_text(ledger.device)
        if device is not None:
            files[DEVICE_FILE] = device
    return files


def _cpu_text(node: Node, ledger: CpuLedger) -> str:
    if ledger.file is not None:
        return ledger.file
    entries = {uid: {name: cpuset_text(cpus) for name, cpus in own.items()} for uid, own in ledger.entries.items()}
    pods = {uid: cpuset_text(cpus) for uid, cpus in ledger.pod_entries.items()}
    baselines = _baselines(entries, ledger.baselines) if node.settings.gate(RESIZE_GATE) else {}
    content = CpuFile(node.settings.cpu_policy, cpuset_text(ledger.default), entries, pods, baselines)
    if node.settings.behaviour.state_data:
        return cpu_bytes(content, "v4")
    return cpu_bytes(content, "v3" if node.cpu.pod_entries else "v2")


def _baselines(
    entries: Mapping[str, Mapping[str, str]], apart: Mapping[str, Mapping[str, int | None]]
) -> dict[str, dict[str, str]]:
    """No resize changes exclusive CPUs (1.37): but for those that were read, they are what the containers hold."""
    baselines = {uid: dict(own) for uid, own in entries.items()}
    for uid, own in apart.items():
        texts = baselines.setdefault(uid, {})
        texts.update({name: cpuset_text(cpus) for name, cpus in own.items() if cpus is not None})
        for name in [name for name, cpus in own.items() if cpus is None]:
            texts.pop(name, None)
    return {uid: own for uid, own in baselines.items() if own}


def _memory_text(node: Node, ledger: MemoryLedger) -> str:
    if ledger.file is not None or node.memory is None:
        return ledger.file or ""
    content = MemoryFile(
        node.settings.memory_policy,
        dict(ledger.nodes),
        {uid: dict(own) for uid, own in ledger.entries.items()},
        dict(ledger.pod_entries),
    )
    if node.settings.behaviour.state_data:
        return memory_bytes(content, "v3")
    return memory_bytes(content, "v2" if node.memory.pod_entries else "v1")


def _device_text(ledger: DeviceLedger) -> str | None:
    if ledger.written is None:
        return ledger.file
    held, healthy = ledger.written
    entries = tuple(
        DeviceEntry(uid, container, resource, dict(own.by_numa), own.response)
        for uid, containers in sorted(held.items())
        for container, resources in sorted(containers.items())
        for resource, own in sorted(resources.items())
    )
    registered = {resource: tuple(sorted(ids)) for resource, ids in healthy.items()}
    return device_bytes(DeviceFile(entries or None, registered))
