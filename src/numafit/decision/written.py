"""What stands in a kubelet's state files, whether or not a kubelet would start over it."""

from collections.abc import Mapping

from msgspec.structs import replace

from numafit.bits import parse_cpuset
from numafit.decision.node import Node
from numafit.decision.start import again, start
from numafit.errors import InputError, KubeletError
from numafit.ledger.files.cpu import parse_cpu
from numafit.ledger.files.device import device_bytes, parse_device
from numafit.ledger.files.memory import parse_memory
from numafit.ledger.ledger import CpuLedger, Ledger, MemoryLedger
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE


def as_written(node: Node, files: Mapping[str, str], source: str) -> Ledger:
    """What stands in the files, whether or not it makes sense to a kubelet: the one that wrote them may still run."""
    known = again(node, {DEVICE_FILE: _devices(files[DEVICE_FILE])} if DEVICE_FILE in files else {})
    try:
        if CPU_FILE in files:
            cpu = parse_cpu(files[CPU_FILE])
            entries = {
                uid: {name: parse_cpuset(cpus) for name, cpus in containers.items()}
                for uid, containers in (cpu.entries or {}).items()
            }
            pods = {uid: parse_cpuset(cpus) for uid, cpus in (cpu.pod_entries or {}).items()}
            known = replace(known, cpu_state=CpuLedger(parse_cpuset(cpu.default), entries, pods))
        if MEMORY_FILE in files:
            memory = parse_memory(files[MEMORY_FILE])
            known = replace(known, memory_state=MemoryLedger(memory.nodes, memory.entries, memory.pod_entries))
    except KubeletError as error:
        raise InputError(f"the state cannot be read: {error}", source=source) from None
    return start(known).ledger


def _devices(text: str) -> str:
    """With the checksum that it should have; what is no such file stays as it is, and tells of no devices."""
    try:
        return device_bytes(parse_device(text))
    except KubeletError:
        return text
