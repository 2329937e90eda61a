"""Other machines that the sources do not rule out: what stands behind a word of `Machine.assumed` could be otherwise.

Nobody can list all numberings of the world; these are those that real machines have. Linux numbers the first threads
of all cores and then the second ones, over the whole machine or NUMA node by NUMA node; virtual machines and some
vendors number the threads of a core one after the other. What a source does tell stays as it is: threads of one core
lie on one NUMA node, in one socket and at one cache where those are told, and their number stays where it is known.
Of made-up CPU numbers, how many each NUMA node has stays.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import product

import msgspec
from msgspec.structs import replace

from numafit.machine.model import CPU_IDS, Cpu, Machine
from numafit.machine.order import cpus_in_kubelet_order

MOST_ALTERNATIVES = 48
THREADS = (1, 2, 4)
"""Of a core, where no source tells how many it has."""
CACHE_CORES = (2, 3, 4, 6, 8, 12, 16)
"""Cores that share an uncore cache."""
NEAR, FAR = 12, 32


class Alternative(msgspec.Struct, frozen=True):
    words: tuple[str, ...]
    """What differs from the guess, as in `Machine.assumed`."""
    machine: Machine


def alternatives(machine: Machine, words: Iterable[str]) -> list[Alternative]:
    """Those that differ from the machine in these words, those that differ in one of them first."""
    asked = [word for word in _OTHERS if word in words]
    found: dict[tuple[Cpu | tuple[int, ...] | None, ...], Alternative] = {}
    for changes in sorted(product((True, False), repeat=len(asked)), key=sum):
        changed = tuple(word for word, change in zip(asked, changes, strict=True) if change)
        if not changed:
            found[_key(machine)] = Alternative((), machine)
            continue
        for other in _varied(machine, changed):
            if len(found) > MOST_ALTERNATIVES:
                break
            found.setdefault(_key(other), Alternative(changed, other))
    return list(found.values())[1:]


def _varied(machine: Machine, words: Sequence[str]) -> Iterator[Machine]:
    if not words:
        yield machine
        return
    for other in _OTHERS[words[0]](machine):
        yield from _varied(other, words[1:])


def _key(machine: Machine) -> tuple[Cpu | tuple[int, ...] | None, ...]:
    """Equal for machines that differ in the names of cores, sockets and caches only."""
    names: dict[tuple[object, ...], int] = {}

    def name(*parts: object) -> int:
        return names.setdefault(parts, len(names))

    cpus = [
        replace(
            cpu,
            core=name("core", cpu.numa, cpu.socket, cpu.core),
            socket=name("socket", cpu.socket),
            uncore_cache=None if cpu.uncore_cache is None else name("cache", cpu.uncore_cache),
        )
        for cpu in machine.cpus
    ]
    return (*cpus, *(node.distances for node in machine.numa_nodes))


def _numa(machine: Machine) -> Iterator[Machine]:
    """In blocks, in turn, or in blocks of each half: `0-3,8-11` and `4-7,12-15`."""
    nodes = sorted(node.id for node in machine.numa_nodes)
    online = _online(machine)
    count, each = len(nodes), len(online) // (len(nodes) or 1)
    if count < 2 or len(online) != count * each:
        return
    half = each // 2
    places: list[Sequence[int]] = [range(count * each), [position % count * each for position in range(count * each)]]
    if each == 2 * half:
        places.append([position % (count * half) * 2 for position in range(count * each)])
    for places_of in places:
        home = {cpu.id: nodes[place // each] for cpu, place in zip(online, places_of, strict=True)}
        moved = [replace(cpu, numa=home.get(cpu.id, cpu.numa)) for cpu in machine.cpus]
        if "core" in machine.assumed or _together(moved, lambda cpu: (cpu.socket, cpu.core), lambda cpu: cpu.numa):
            yield replace(machine, cpus=tuple(cpus_in_kubelet_order(moved)))


def _cpu_ids(machine: Machine) -> Iterator[Machine]:
    """As many CPUs on each NUMA node as are told: numbered node by node, in turn, or a half of each node after the
    other."""
    online = _online(machine)
    homes = sorted(cpu.numa for cpu in online)
    counts = {home: homes.count(home) for home in dict.fromkeys(homes)}
    turn = [place for count in counts.values() for place in range(count)]
    halves = [2 * place // counts[home] for place, home in zip(turn, homes, strict=True)]
    sockets = {cpu.numa: cpu.socket for cpu in online}
    for places in ([0] * len(homes), turn, halves):
        by_number = [home for _, home in sorted(zip(places, homes, strict=True))]
        home_of = {cpu.id: home for cpu, home in zip(online, by_number, strict=True)}
        moved = [
            replace(cpu, numa=home_of[cpu.id], socket=sockets[home_of[cpu.id]]) if cpu.id in home_of else cpu
            for cpu in machine.cpus
        ]
        if "core" in machine.assumed or _together(moved, lambda cpu: (cpu.socket, cpu.core), lambda cpu: cpu.numa):
            yield replace(machine, cpus=tuple(cpus_in_kubelet_order(moved)))


def _core(machine: Machine) -> Iterator[Machine]:
    online = _online(machine)
    nodes: dict[int, list[Cpu]] = {}
    for cpu in online:
        nodes.setdefault(cpu.numa, []).append(cpu)
    known = max(_core_sizes(online), default=1)
    for threads in THREADS if known == 1 else (known,):
        if threads == 1:
            yield _with_cores(machine, {cpu.id: cpu.id for cpu in online})
            continue
        numberings: list[dict[int, int]] = [_far(online, threads), {}, {}]
        for own in nodes.values():
            numberings[1] |= _near(own, threads)
            numberings[2] |= _far(own, threads)
        for cores in numberings:
            other = _with_cores(machine, cores)
            if len(cores) == len(online) and _is_possible(other):
                yield other


def _core_sizes(cpus: Sequence[Cpu]) -> list[int]:
    sizes: dict[tuple[int, int, int], int] = {}
    for cpu in cpus:
        core = cpu.numa, cpu.socket, cpu.core
        sizes[core] = sizes.get(core, 0) + 1
    return list(sizes.values())


def _far(cpus: Sequence[Cpu], threads: int) -> dict[int, int]:
    """CPU -> the lowest CPU of its core: all first threads, then all second ones."""
    if len(cpus) % threads:
        return {}
    cores = len(cpus) // threads
    return {cpu.id: cpus[position % cores].id for position, cpu in enumerate(cpus)}


def _near(cpus: Sequence[Cpu], threads: int) -> dict[int, int]:
    """CPU -> the lowest CPU of its core: the threads of a core one after the other."""
    if len(cpus) % threads:
        return {}
    return {cpu.id: cpus[position // threads * threads].id for position, cpu in enumerate(cpus)}


def _with_cores(machine: Machine, cores: dict[int, int]) -> Machine:
    return replace(machine, cpus=tuple(replace(cpu, core=cores.get(cpu.id, cpu.core)) for cpu in machine.cpus))


def _is_possible(machine: Machine) -> bool:
    """Threads of a core share what is told: NUMA node, socket and cache."""
    told: list[Callable[[Cpu], object]] = [lambda cpu: cpu.numa]
    if "socket" not in machine.assumed:
        told.append(lambda cpu: cpu.socket)
    if "uncore_cache" not in machine.assumed:
        told.append(lambda cpu: cpu.uncore_cache)
    cpus = _online(machine)
    return all(_together(cpus, lambda cpu: cpu.core, place) for place in told)


def _together(cpus: Sequence[Cpu], group: Callable[[Cpu], object], place: Callable[[Cpu], object]) -> bool:
    """Whether all CPUs of a group are at one place."""
    places: dict[object, object] = {}
    return all(places.setdefault(group(cpu), place(cpu)) == place(cpu) for cpu in cpus if cpu.online)


def _socket(machine: Machine) -> Iterator[Machine]:
    """Neighbouring NUMA nodes share a socket, or, where their number is told, every second one does."""
    nodes = sorted({cpu.numa for cpu in machine.cpus if cpu.online})
    told = machine.sockets
    if len(nodes) == 1 and told and told > 1:
        yield from _split_node(machine, told)
    for count in range(1, len(nodes) + 1) if told is None else (told,):
        if len(nodes) % count:
            continue
        each = len(nodes) // count
        places = [{node: index // each for index, node in enumerate(nodes)}]
        if told is not None:
            places.append({node: index % count for index, node in enumerate(nodes)})
        for sockets in places:
            yield replace(
                machine, cpus=tuple(replace(cpu, socket=sockets.get(cpu.numa, cpu.socket)) for cpu in machine.cpus)
            )


def _split_node(machine: Machine, sockets: int) -> Iterator[Machine]:
    """One NUMA node over several sockets: the first cores in the first socket, or cores in turn."""
    cores = list(dict.fromkeys((cpu.numa, cpu.core) for cpu in _online(machine)))
    if len(cores) % sockets:
        return
    each = len(cores) // sockets
    for home in (
        {core: index // each for index, core in enumerate(cores)},
        {core: index % sockets for index, core in enumerate(cores)},
    ):
        yield replace(
            machine,
            cpus=tuple(replace(cpu, socket=home.get((cpu.numa, cpu.core), cpu.socket)) for cpu in machine.cpus),
        )


def _uncore_cache(machine: Machine) -> Iterator[Machine]:
    """Neighbouring cores of a NUMA node share a cache. One for the whole node is no uncore cache to the kubelet."""
    nodes: dict[int, list[tuple[int, int, int]]] = {}
    for cpu in _online(machine):
        cores = nodes.setdefault(cpu.numa, [])
        if (cpu.numa, cpu.socket, cpu.core) not in cores:
            cores.append((cpu.numa, cpu.socket, cpu.core))
    yield replace(machine, cpus=tuple(replace(cpu, uncore_cache=None) for cpu in machine.cpus))
    for size in CACHE_CORES:
        if any(size >= len(cores) or len(cores) % size for cores in nodes.values()):
            continue
        caches: dict[tuple[int, int, int], int] = {}
        for cores in nodes.values():
            first = len(set(caches.values()))
            caches |= {core: first + index // size for index, core in enumerate(cores)}
        yield replace(
            machine,
            cpus=tuple(replace(cpu, uncore_cache=caches.get((cpu.numa, cpu.socket, cpu.core))) for cpu in machine.cpus),
        )


def _distances(machine: Machine) -> Iterator[Machine]:
    """All equally far, nodes of a socket nearer, or two neighbours nearer."""
    ids = sorted(node.id for node in machine.numa_nodes)
    sockets = {cpu.numa: cpu.socket for cpu in machine.cpus if cpu.online}
    groups: list[Callable[[int], object]] = [
        lambda node: node,
        lambda node: sockets.get(node, -1 - node),
        lambda node: ids.index(node) // 2,
    ]
    for group in groups:
        yield replace(
            machine,
            numa_nodes=tuple(
                replace(node, distances=tuple(_distance(group, node.id, other) for other in ids))
                for node in machine.numa_nodes
            ),
        )


def _distance(group: Callable[[int], object], one: int, other: int) -> int:
    return 10 if one == other else NEAR if group(one) == group(other) else FAR


def _online(machine: Machine) -> list[Cpu]:
    return sorted((cpu for cpu in machine.cpus if cpu.online), key=lambda cpu: cpu.id)


_OTHERS: dict[str, Callable[[Machine], Iterator[Machine]]] = {
    CPU_IDS: _cpu_ids,
    "numa": _numa,
    "core": _core,
    "socket": _socket,
    "uncore_cache": _uncore_cache,
    "distances": _distances,
}
"""In this order, since each looks at what those before it have changed."""
