"""What a description of a machine does not tell, in people's words, with the source that would tell it.

Readers and `combine` list under `Machine.assumed` what nobody stated; here each of those words becomes a note. Which of
them matter to a question is known where the question is (`decision.doubt.assumed`).
"""

from collections.abc import Iterable, Sequence

from numafit.amounts import amount_text, size_text
from numafit.machine.model import CPU_IDS, DEVICES, Machine
from numafit.machine.source import Disagreement
from numafit.notes import Note

MACHINE = "machine"

CODES = {
    "cpus": "cpus-unknown",
    CPU_IDS: "cpu-numbers-guessed",
    "core": "cores-guessed",
    "socket": "sockets-guessed",
    "numa": "numa-guessed",
    "uncore_cache": "caches-guessed",
    "distances": "distances-guessed",
    "memory": "memory-unknown",
    "hugepages": "hugepages-unknown",
    DEVICES: "device-ids-guessed",
    "device_numa": "devices-guessed",
    "links": "links-guessed",
}
"""Word of `Machine.assumed` -> code of its note, in the order in which notes are listed."""


_SHORT = {
    "cpus": "all CPUs",
    CPU_IDS: "numbers of the CPUs",
    "core": "cores",
    "socket": "sockets",
    "numa": "NUMA nodes of the CPUs",
    "uncore_cache": "uncore caches",
    "distances": "distances",
    "memory": "memory",
    "hugepages": "huge pages",
    DEVICES: "ids of the devices",
    "device_numa": "NUMA nodes of the devices",
    "links": "GPU links",
}


def untold_words(machine: Machine) -> tuple[str, ...]:
    """What is not told, each in a word or two."""
    return tuple(_SHORT.get(word, word) for word in machine.assumed)


def machine_notes(machine: Machine, words: Iterable[str] | None = None) -> tuple[Note, ...]:
    """One for each word of `Machine.assumed`, or for those of them that are in `words`."""
    asked = machine.assumed if words is None else tuple(words)
    known = [Note(code, MACHINE, _text(machine, word)) for word, code in CODES.items() if word in asked]
    unknown = [word for word in dict.fromkeys(asked) if word not in CODES]
    return (*known, *(Note("machine-assumed", MACHINE, f'its description calls "{word}" assumed') for word in unknown))


def memory_gap_text(machine: Machine) -> str:
    """Empty where the memory of the NUMA nodes is about that of the machine, or one of the two is not known.

    Two amounts that differ by less than a sixteenth of the larger are the same: kernels keep some to themselves."""
    nodes = [node for node in machine.numa_nodes if node.memory and not node.device]
    told, total = sum(node.memory for node in nodes), machine.memory
    if not told or not total or abs(told - total) < max(told, total) // 16:
        return ""
    which = f"NUMA node {nodes[0].id} has" if len(nodes) == 1 else f"the {len(nodes)} NUMA nodes have"
    return f"{which} {size_text(told)} of memory, and MemTotal tells {size_text(total)} in all"


def disagreement_notes(disagreements: Sequence[Disagreement]) -> tuple[Note, ...]:
    return tuple(Note("sources-disagree", MACHINE, disagreement_text(found)) for found in disagreements)


def disagreement_text(found: Disagreement) -> str:
    values = ", ".join(f"{source} says {text}" for source, text in found.values)
    return f"{found.what}: {values}; taken: {found.taken} ({found.why})"


def _text(machine: Machine, word: str) -> str:
    match word:
        case "cpus":
            return "there may be more CPUs than the source lists; give `lscpu -p` or /sys"
        case "cpu_ids":
            return (
                "no source tells the numbers of the CPUs, only how many each NUMA node has; a count from 0, node by "
                "node, stands in; give `lscpu -p` or /sys"
            )
        case "core":
            stand_in = "each CPU stands for a core" if _single(machine) else "the usual numbering stands in"
            return f"no source tells which CPUs are threads of one core; {stand_in}; give `lscpu -p` or /sys"
        case "socket":
            count = len({cpu.socket for cpu in machine.cpus if cpu.online})
            stand_in = "all in one" if count == 1 else f"a split into {count}"
            return f"no source tells which CPUs share a socket; {stand_in} stands in; give `lscpu -p` or /sys"
        case "numa":
            return "no source tells for certain which CPUs are on which NUMA node; give `numactl --hardware` or /sys"
        case "uncore_cache":
            return "no source tells which CPUs share an uncore cache; none is taken to; give `lscpu -p` or /sys"
        case "distances":
            told = all(node.distances for node in machine.numa_nodes)
            stand_in = "numbers stand in; " if told else ""
            return f"no source tells the distances between the NUMA nodes; {stand_in}give `numactl --hardware` or /sys"
        case "memory":
            return _memory_text(machine)
        case "hugepages":
            taken = (
                "the pages that pods may have stand in"
                if any(node.hugepages for node in machine.numa_nodes)
                else "none are taken to be there"
            )
            return f"no source tells the huge pages of the NUMA nodes; {taken}; give /sys"
        case "devices":
            return (
                "no source tells the ids of all devices, only how many each NUMA node has; made-up ids stand in; give "
                "podresources or `nvidia-smi -L`"
            )
        case "device_numa":
            return (
                "no source tells on which NUMA node the device plugin says that each device is; what the driver says "
                "stands in where it does; give `lspci -v`, podresources or /sys"
            )
        case _:
            return "no source tells how all GPUs are linked; their places stand in; give `nvidia-smi topo -m`"


def _single(machine: Machine) -> bool:
    online = [cpu for cpu in machine.cpus if cpu.online]
    return len({(cpu.numa, cpu.socket, cpu.core) for cpu in online}) == len(online)


def _memory_text(machine: Machine) -> str:
    amounts = [amount_text(node.memory) for node in machine.numa_nodes]
    if not any(node.memory for node in machine.numa_nodes):
        return "no source tells the memory of the NUMA nodes; they are taken to have none; give `numactl --hardware`"
    stand_in = f"{amounts[0]} on each stands in" if len(set(amounts)) == 1 else "what is known of it stands in"
    return f"no source tells the whole memory of each NUMA node; {stand_in}; give `numactl --hardware` or /sys"
