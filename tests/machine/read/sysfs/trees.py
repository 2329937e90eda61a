"""Trees like /sys and /proc for tests: a dictionary that knows the `Tree` protocol, and machines of a chosen shape."""

from collections.abc import Mapping
from pathlib import Path

CPUS = "sys/devices/system/cpu"
NODES = "sys/devices/system/node"


class MapTree:
    """Files by path; a link is a path with its target, an empty folder a path that ends in a slash."""

    def __init__(self, files: Mapping[str, str], links: Mapping[str, str] | None = None) -> None:
        self.files = dict(files)
        self.links = dict(links or {})
        self.listed: dict[str, set[str]] = {}

    def text(self, path: str) -> str | None:
        return self.files.get(path)

    def names(self, path: str) -> list[str]:
        if not self.listed:
            for entry in [*self.files, *self.links]:
                parts = entry.split("/")
                for depth in range(1, len(parts)):
                    self.listed.setdefault("/".join(parts[:depth]), set()).add(parts[depth])
        return sorted(self.listed.get(path, set()) - {""})

    def link(self, path: str) -> str | None:
        return self.links.get(path)

    def write(self, folder: Path) -> None:
        for path, text in self.files.items():
            target = folder / path
            if path.endswith("/"):
                target.mkdir(parents=True, exist_ok=True)
                continue
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_text(text)
        for path, text in self.links.items():
            (folder / path).parent.mkdir(parents=True, exist_ok=True)
            (folder / path).symlink_to(text)


def mask_text(cpus: list[int]) -> str:
    mask = sum(1 << cpu for cpu in cpus)
    groups = [f"{mask >> 32 * i & 0xFFFFFFFF:08x}" for i in range(max(mask.bit_length() + 31, 32) // 32)]
    return ",".join(reversed(groups)) + "\n"


def cache_files(cpu: int, index: int, level: int, kind: str, size: int, cpus: list[int], id: int) -> dict[str, str]:
    folder = f"{CPUS}/cpu{cpu}/cache/index{index}"
    return {
        f"{folder}/id": f"{id}\n",
        f"{folder}/level": f"{level}\n",
        f"{folder}/type": f"{kind}\n",
        f"{folder}/size": f"{size}K\n",
        f"{folder}/shared_cpu_map": mask_text(cpus),
    }


def server(nodes: int = 2, cores: int = 4, threads: int = 2, l3_cores: int = 0) -> dict[str, str]:
    """A machine with one socket per NUMA node; SMT siblings are n and n + all cores. `l3_cores` cores share a level 3
    cache, 0 for all of a node."""
    total = nodes * cores
    share = l3_cores or cores
    files = {f"{CPUS}/online": f"0-{total * threads - 1}\n", f"{CPUS}/isolated": "\n"}
    info = []
    for cpu in range(total * threads):
        core = cpu % total
        node = core // cores
        first = core // share * share
        siblings = [core + total * thread for thread in range(threads)]
        group = [other + total * thread for other in range(first, first + share) for thread in range(threads)]
        topology = f"{CPUS}/cpu{cpu}/topology"
        files |= {
            f"{topology}/core_id": f"{core % cores}\n",
            f"{topology}/physical_package_id": f"{node}\n",
            f"{topology}/die_id": "0\n",
            f"{NODES}/node{node}/cpu{cpu}/": "",
        }
        files |= cache_files(cpu, 0, 1, "Data", 32, siblings, core)
        files |= cache_files(cpu, 1, 1, "Instruction", 32, siblings, core)
        files |= cache_files(cpu, 2, 2, "Unified", 1024, siblings, core)
        files |= cache_files(cpu, 3, 3, "Unified", 32768, group, first // share)
        info.append(f"processor\t: {cpu}\nmodel name\t: Test CPU\nphysical id\t: {node}\ncore id\t\t: {core % cores}\n")
    for node in range(nodes):
        row = " ".join("10" if other == node else "21" for other in range(nodes))
        files |= {
            f"{NODES}/node{node}/meminfo": f"\nNode {node} MemTotal:       1048576 kB\nNode {node} MemFree: 5 kB\n",
            f"{NODES}/node{node}/distance": f"{row}\n",
            f"{NODES}/node{node}/hugepages/hugepages-2048kB/nr_hugepages": f"{node}\n",
            f"{NODES}/node{node}/hugepages/hugepages-1048576kB/nr_hugepages": "0\n",
        }
    files["proc/cpuinfo"] = "\n".join(info)
    files["proc/meminfo"] = f"MemTotal:       {nodes * 1000000} kB\nMemFree:  1 kB\n"
    return files


def pci(
    path: str, pci_class: str, vendor: str, numa: str | None = "0", device: str = "0x0001"
) -> tuple[dict[str, str], dict[str, str]]:
    """Files and the link of a PCI device; `path` as in `pci0000:10/0000:10:00.0/0000:11:00.0`."""
    address = path.rpartition("/")[2]
    folder = f"sys/devices/{path}"
    files = {f"{folder}/class": f"{pci_class}\n", f"{folder}/vendor": f"{vendor}\n", f"{folder}/device": f"{device}\n"}
    if numa is not None:
        files[f"{folder}/numa_node"] = f"{numa}\n"
    return files, {f"sys/bus/pci/devices/{address}": f"../../../devices/{path}"}
