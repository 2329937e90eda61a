"""A machine as a topology file for NCCL (`NCCL_TOPO_FILE`).

What numafit does not know is left out: NCCL looks it up on the machine where it runs (speed and width of PCI links, the
GPUs' generation, processor family). GPUs that reach each other over NVSwitch are linked with the switch, others with
each other.
"""

from collections.abc import Sequence
from html import escape

from numafit.bits import mask_of
from numafit.errors import InputError
from numafit.machine.model import Device, Machine

MOST_LINKS = 18
"""NVLinks of one GPU. Pairs that would need more of them go through NVSwitch."""

_BRIDGE_CLASS, _GPU_CLASS, _NIC_CLASS, _NVSWITCH_CLASS = 0x060400, 0x030200, 0x020000, 0x068000
_ANY_SWITCH = "fffffff:ffff:ff"
"""What NCCL itself writes for NVSwitch where its PCI address is hidden."""


def _quoted(text: str) -> str:
    return f'"{escape(text)}"'


def nccl_xml(machine: Machine) -> str:
    devices = [device for device in machine.devices if device.kind in ("gpu", "nic") and device.bus]
    hidden = [device.label or device.id for device in machine.devices if device.kind == "gpu" and not device.bus]
    if hidden or not any(device.kind == "gpu" for device in devices):
        message = f"the PCI address of {hidden[0]} is not known" if hidden else "there is no GPU in this machine"
        raise InputError(message, cure="NCCL knows GPUs by their PCI addresses; add /sys or lspci -v as a source")
    gpus = [device for device in devices if device.kind == "gpu"]
    numbers = {device.id: number for number, device in enumerate(gpus)}
    lines = ['<system version="1">']
    for numa in sorted({_numa(device) for device in devices}):
        lines.append(_cpu_line(machine, numa))
        here = [device for device in devices if _numa(device) == numa]
        for switch in dict.fromkeys(device.switch for device in here):
            below = [device for device in here if device.switch == switch]
            depth = "    "
            if switch:
                lines.append(f'    <pci busid={_quoted(switch)} class="0x{_BRIDGE_CLASS:06x}">')
                depth += "  "
            for device in below:
                lines += [depth + line for line in _device_lines(machine, device, numbers)]
            if switch:
                lines.append("    </pci>")
        lines.append("  </cpu>")
    return "\n".join([*lines, "</system>"]) + "\n"


def _numa(device: Device) -> int:
    """NCCL writes -1 too for what /sys does not know."""
    return device.numa[0] if device.numa is not None and len(device.numa) == 1 else -1


def _cpu_line(machine: Machine, numa: int) -> str:
    cpus = mask_of(cpu.id for cpu in machine.cpus if cpu.online and numa in (cpu.numa, -1))
    attributes = {"numaid": str(numa), "affinity": _affinity(cpus), **_processor(machine.model)}
    text = " ".join(f"{name}={_quoted(value)}" for name, value in attributes.items() if value)
    return f"  <cpu {text}>"


def _affinity(cpus: int) -> str:
    """As the kernel writes masks: words of 32 bits, the highest first."""
    words = []
    while cpus:
        words.append(f"{cpus & 0xFFFFFFFF:08x}")
        cpus >>= 32
    return ",".join(reversed(words))


def _processor(model: str) -> dict[str, str]:
    if "Intel" in model:
        return {"arch": "x86_64", "vendor": "GenuineIntel"}
    if "AMD" in model:
        return {"arch": "x86_64", "vendor": "AuthenticAMD"}
    return {"arch": "arm64"} if "Neoverse" in model else {}


def _device_lines(machine: Machine, device: Device, numbers: dict[str, int]) -> list[str]:
    usual = _GPU_CLASS if device.kind == "gpu" else _NIC_CLASS
    pci = f'<pci busid={_quoted(device.bus)} class="0x{device.pci_class or usual:06x}"'
    if device.kind != "gpu":
        return [f"{pci}/>"]
    links = _nvlinks(machine, device)
    gpu = f'  <gpu dev="{numbers[device.id]}"'
    if not links:
        return [f"{pci}>", f"{gpu}/>", "</pci>"]
    return [f"{pci}>", f"{gpu}>", *(f"    {link}" for link in links), "  </gpu>", "</pci>"]


def _nvlinks(machine: Machine, device: Device) -> Sequence[str]:
    by_id = {other.id: other for other in machine.devices}
    counts = {
        link.b if link.a == device.id else link.a: int(link.kind[2:])
        for link in machine.links
        if device.id in (link.a, link.b) and link.kind[:2] == "NV" and link.kind[2:].isdigit()
    }
    if sum(counts.values()) > MOST_LINKS:
        count = max(counts.values())
        return [f'<nvlink target="{_ANY_SWITCH}" count="{count}" tclass="0x{_NVSWITCH_CLASS:06x}"/>']
    peers = [(by_id[id], count) for id, count in counts.items() if id in by_id]
    return [
        f'<nvlink target={_quoted(peer.bus)} count="{count}" tclass="0x{peer.pci_class or _GPU_CLASS:06x}"/>'
        for peer, count in peers
    ]
