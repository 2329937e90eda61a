"""The short words that people see: lists of ids, labels, the one line that sums a machine up."""

from collections import Counter
from collections.abc import Iterable, Sequence

from numafit.amounts import count_text, size_text
from numafit.bits import members, numbers_text
from numafit.machine.links import link_score
from numafit.machine.model import Cache, Device, Machine


def ids_text(ids: Iterable[int]) -> str:
    """Ascending: `0-3,8`, and `0-62:2` for every second one."""
    return numbers_text(sorted(ids))


def printable(text: str) -> str:
    """On one line, whatever stands in it."""
    return text if text.isprintable() else "".join(letter if letter.isprintable() else "?" for letter in text)


def device_label(device: Device) -> str:
    """What people call it: `GPU0`; else its bus address or, shortened, its id."""
    label = printable(device.label or device.bus.removeprefix("0000:") or device.id)
    return label if device.label or len(label) <= 16 else label[:15] + "…"


def device_labels(machine: Machine) -> dict[str, str]:
    """A UUID says nothing to a reader; the number that the vendor's tools give a GPU does."""
    return {device.id: device.label for device in machine.devices if device.label}


def machine_title(machine: Machine) -> str:
    return printable(machine.name) or "machine"


_KIND_NOUNS = {"gpu": "GPU", "mig": "MIG slice", "nic": "NIC", "nvme": "NVMe drive"}


def kind_noun(kind: str) -> str:
    return _KIND_NOUNS.get(kind, "other device")


def summary_text(machine: Machine) -> str:
    """`2 sockets, 2 NUMA nodes, 64 cores, 128 CPUs, 504Gi, 8 GPUs`; what is unknown is left out."""
    online = [cpu for cpu in machine.cpus if cpu.online]
    parts: list[str] = []
    if online:
        sockets = machine.sockets or len({cpu.socket for cpu in online})
        parts.append(count_text(sockets, "socket"))
    if machine.numa_nodes:
        parts.append(count_text(len(machine.numa_nodes), "NUMA node"))
    if online:
        parts.append(count_text(len({(cpu.socket, cpu.numa, cpu.core) for cpu in online}), "core"))
        parts.append(count_text(len(online), "CPU"))
    memory = machine.memory or sum(node.memory for node in machine.numa_nodes)
    if memory:
        parts.append(size_text(memory))
    nouns = [kind_noun(device.kind) for device in machine.devices]
    order = [*dict.fromkeys(map(kind_noun, _KIND_NOUNS)), kind_noun("")]
    parts += [count_text(nouns.count(noun), noun) for noun in order if noun in nouns]
    return ", ".join(parts) or "nothing is known of it"


def product_names(devices: Sequence[Device]) -> list[str]:
    """`8 x NVIDIA H100`, in the order met, for the devices that have a name."""
    names: dict[str, int] = {}
    for device in devices:
        if device.name:
            names[printable(device.name)] = names.get(printable(device.name), 0) + 1
    return [f"{count} x {name}" for name, count in names.items()]


def distinct_caches(machine: Machine) -> list[Cache]:
    """By level and kind. Some processors number one cache once for each of its CPUs."""
    caches = {(cache.level, cache.kind, cache.cpus): cache for cache in machine.caches}
    return [caches[key] for key in sorted(caches)]


def caches_text(machine: Machine) -> str:
    """`L1d 32Ki per core, L2 1Mi per core, L3 32Mi per 8 cores`; empty when no cache is known."""
    cores = {cpu.id: (cpu.socket, cpu.numa, cpu.core) for cpu in machine.cpus if cpu.online}
    kinds: dict[str, dict[tuple[int, int], int]] = {}
    for cache in distinct_caches(machine):
        sharers = len({cores[cpu] for cpu in members(cache.cpus) if cpu in cores})
        if sharers:
            name = f"L{cache.level}" + {"data": "d", "instruction": "i"}.get(cache.kind, "")
            sizes = kinds.setdefault(name, {})
            sizes[cache.size, sharers] = sizes.get((cache.size, sharers), 0) + 1
    parts = []
    for name, sizes in kinds.items():
        texts = [
            (f"{number} x " if len(sizes) > 1 else "")
            + f"{size_text(size)} per {'core' if sharers == 1 else f'{sharers} cores'}"
            for (size, sharers), number in sizes.items()
        ]
        parts.append(f"{name} {' and '.join(texts)}")
    return ", ".join(parts)


def links_text(machine: Machine) -> str:
    """`NV18 between all 8 GPUs`, or how many pairs of GPUs have which kind of link; empty when none is known."""
    gpus = {device.id for device in machine.devices if device.kind == "gpu"}
    kinds = Counter(link.kind for link in machine.links if link.a in gpus and link.b in gpus)
    if len(kinds) == 1 and kinds.total() == len(gpus) * (len(gpus) - 1) // 2 > 1:
        return f"{printable(next(iter(kinds)))} between all {len(gpus)} GPUs"
    ordered = sorted(kinds, key=lambda kind: (-link_score(kind), kind))
    return ", ".join(f"{count_text(kinds[kind], 'GPU pair')} {printable(kind)}" for kind in ordered)
