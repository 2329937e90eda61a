"""A machine in one line, for planning with machines that one does not have.

    2 sockets x 2 numa x 8 cores x 2 threads, 64Gi per numa, l3 per 4 cores, gpu 0-3@0 4-7@2, distances 10 12 21

The first part is the shape, outermost level first: `sockets`, `numa` (these two in either order), `cores`, `threads`;
a level that is left out counts one. The other parts stand in any order:

    64Gi per numa            memory of each NUMA node;  memory 64Gi 32Gi  one amount per NUMA node
    hugepages 2Mi 512        pages of this size on each NUMA node with CPUs
    plus 2 numa of 128Gi     more NUMA nodes, without CPUs
    l3 32Mi per 4 cores      caches shared by so many cores; the size may be left out
    distances 10 12 21       a NUMA node to itself, to others in its socket, to the rest; two numbers: itself, others
    smt near                 siblings are neighbours (0 and 1); `smt far`, the default: n and n + number of cores
    gpu 0-3@0 4-7@1          GPUs by number, and their NUMA node; `@?` for one whose NUMA node is not known
    nic 0@0 1@1              network devices likewise
    links NV18 0-7           how these GPUs reach each other; else NODE in a NUMA node and SYS between two

hwloc's synthetic language is understood too: `Package:2 NUMANode:2 L3:2 Core:4 PU:2`.
"""

import re
from collections.abc import Callable, Iterator
from typing import NamedTuple, TypeVar

from msgspec.structs import replace

from numafit.amounts import parse_amount
from numafit.bits import parse_numbers
from numafit.errors import InputError
from numafit.machine.model import Machine
from numafit.machine.shape import DevicePlace, Shape, machine_of_shape
from numafit.machine.sketch.synthetic import is_synthetic, read_synthetic

T = TypeVar("T")

LARGEST_COUNT = 4096


class Word(NamedTuple):
    text: str
    column: int


class Clause:
    """The words between two commas."""

    def __init__(self, words: list[Word], source: str, end: int) -> None:
        self.words = words
        self.source = source
        self.end = end
        self.next = 0

    def error(self, message: str, *, cure: str = "", word: Word | None = None) -> InputError:
        column = word.column if word else self.words[self.next].column if self.more() else self.end
        return InputError(message, source=self.source, line=1, column=column, cure=cure)

    @property
    def first(self) -> str:
        return self.words[0].text.lower() if self.words else ""

    def more(self) -> bool:
        return self.next < len(self.words)

    def take(self, what: str) -> Word:
        if not self.more():
            raise self.error(f"{what} is missing here")
        self.next += 1
        return self.words[self.next - 1]

    def rest(self, what: str) -> Iterator[Word]:
        """All further words, at least one."""
        yield self.take(what)
        while self.more():
            yield self.take(what)

    def expect(self, *texts: str) -> Word:
        word = self.take(f'"{texts[0]}"')
        if word.text.lower() not in texts:
            raise self.error(f'"{texts[0]}" is needed here, not "{word.text[:40]}"', word=word)
        return word

    def count(self, what: str) -> int:
        word = self.take(what)
        if not re.fullmatch(r"[0-9]{1,6}", word.text) or not 0 < int(word.text) <= LARGEST_COUNT:
            message = f'{what} must be a number from 1 to {LARGEST_COUNT}, not "{word.text[:40]}"'
            raise self.error(message, word=word)
        return int(word.text)

    def amount(self) -> int:
        word = self.take("an amount of memory")
        return self.parsed(word, word.text, parse_amount, "write it like 64Gi")

    def parsed(self, word: Word, text: str, parse: Callable[[str], T], cure: str) -> T:
        try:
            return parse(text)
        except ValueError as error:
            raise self.error(str(error), cure=cure, word=word) from None

    def finish(self) -> None:
        if self.more():
            word = self.words[self.next]
            raise self.error(f'"{word.text[:40]}" is too much here', cure="put a comma between two parts", word=word)


def clauses(text: str, source: str) -> Iterator[Clause]:
    words: list[Word] = []
    for match in re.finditer(r"[^\s,]+|,", text):
        if match.group() != ",":
            words.append(Word(match.group(), match.start() + 1))
            continue
        yield Clause(words, source, match.start() + 1)
        words = []
    yield Clause(words, source, len(text) + 1)


PartReader = Callable[[Clause, Shape], Shape]

LONGEST = 2000
MOST_CPUS = 16384
MOST_NODES = 1024
MOST_DEVICES = 256

_LEVELS = ("socket", "numa", "core", "thread")
_RANKS = {"plus": 0, "links": 2}
_LINK_KIND = re.compile(r"PIX|PXB|PHB|NODE|SYS|NV[0-9]{1,2}")


def read_sketch(text: str, source: str = "sketch") -> Machine:
    if is_synthetic(text):
        return read_synthetic(text, source)
    if len(text) > LONGEST:
        raise InputError(f"a sketch has at most {LONGEST} characters", source=source, cure="write a machine file")
    first, *parts = clauses(text, source)
    shape = _levels(first)
    first.finish()
    # devices may sit on NUMA nodes that are added, and links need their devices
    for clause in sorted(parts, key=lambda clause: _RANKS.get(clause.first, 1)):
        shape = _part(clause, shape)
        clause.finish()
    machine = machine_of_shape(shape)
    if len(machine.numa_nodes) == 1 or any(clause.first == "distances" for clause in parts):
        return machine
    return replace(machine, assumed=("distances",))


def _levels(clause: Clause) -> Shape:
    counts: dict[str, int] = {}
    while True:
        count = clause.count("the number of sockets, numa, cores or threads")
        word = clause.take("sockets, numa, cores or threads")
        level = word.text.lower().rstrip("s")
        if level not in _LEVELS:
            raise clause.error(f'"{word.text[:40]}" is no level of a machine', cure=_SHAPE_CURE, word=word)
        if level in counts or ("thread" in counts) or ("core" in counts and level != "thread"):
            raise clause.error(f"{word.text} cannot stand here", cure=_SHAPE_CURE, word=word)
        counts[level] = count
        if not clause.more():
            break
        clause.expect("x", "*")
    shape = Shape(
        sockets=counts.get("socket", 1),
        numa=counts.get("numa", 1),
        cores=counts.get("core", 1),
        threads=counts.get("thread", 1),
        numa_first=list(counts)[:2] == ["numa", "socket"],
    )
    if shape.all_cores * shape.threads > MOST_CPUS:
        raise clause.error(f"more than {MOST_CPUS} CPUs", word=clause.words[0])
    return shape


def _part(clause: Clause, shape: Shape) -> Shape:
    first = clause.take("a part of the sketch")
    word = first.text.lower()
    if word in _PARTS:
        return _PARTS[word](clause, shape)
    if word[0].isdigit():
        clause.next = 0
        amount = clause.amount()
        clause.expect("per")
        clause.expect("numa")
        return replace(shape, memory=(amount,) * shape.cpu_nodes)
    raise clause.error(f'"{first.text[:40]}" is no part of a sketch', cure=_PARTS_CURE, word=first)


def _memory(clause: Clause, shape: Shape) -> Shape:
    amounts = [clause.amount()]
    while clause.more():
        amounts.append(clause.amount())
    if len(amounts) == 1:
        amounts *= shape.cpu_nodes
    if len(amounts) != shape.cpu_nodes:
        message = f"{len(amounts)} amounts for {shape.cpu_nodes} NUMA nodes"
        raise clause.error(message, cure="give one for all or one for each", word=clause.words[1])
    return replace(shape, memory=tuple(amounts))


def _hugepages(clause: Clause, shape: Shape) -> Shape:
    size = clause.amount()
    word = clause.take("the number of pages")
    if not re.fullmatch(r"[0-9]{1,12}", word.text):
        raise clause.error(f'"{word.text[:40]}" is not a number of pages', word=word)
    return replace(shape, hugepages={**shape.hugepages, size: int(word.text)})


def _plus(clause: Clause, shape: Shape) -> Shape:
    count = clause.count("the number of NUMA nodes")
    clause.expect("numa")
    clause.expect("of")
    nodes = (*shape.more_nodes, *([clause.amount()] * count))
    if len(nodes) + shape.cpu_nodes > MOST_NODES:
        raise clause.error(f"more than {MOST_NODES} NUMA nodes", word=clause.words[1])
    return replace(shape, more_nodes=nodes)


def _l3(clause: Clause, shape: Shape) -> Shape:
    size = 0
    if clause.more() and clause.words[clause.next].text.lower() != "per":
        size = clause.amount()
    clause.expect("per")
    word = clause.words[clause.next] if clause.more() else None
    cores = clause.count("the number of cores")
    clause.expect("cores", "core")
    sockets = shape.numa * shape.sockets if shape.numa_first else shape.sockets
    if shape.all_cores // sockets % cores:
        message = f"{cores} does not divide the {shape.all_cores // sockets} cores of a socket"
        raise clause.error(message, word=word)
    return replace(shape, l3_cores=cores, l3_size=size)


def _distances(clause: Clause, shape: Shape) -> Shape:
    numbers = []
    while clause.more():
        word = clause.take("a distance")
        if not re.fullmatch(r"[0-9]{1,3}", word.text) or not 0 < int(word.text) < 256:
            raise clause.error(f'"{word.text[:40]}" is not a distance', cure="they go from 1 to 255", word=word)
        numbers.append(int(word.text))
    if len(numbers) not in (2, 3):
        raise clause.error("two or three distances are needed", cure="write it like 10 12 21", word=clause.words[0])
    return replace(shape, distances=(numbers[0], numbers[1], numbers[-1]))


def _smt(clause: Clause, shape: Shape) -> Shape:
    return replace(shape, near=clause.expect("near", "far").text.lower() == "near")


def _devices(kind: str) -> PartReader:
    def devices(clause: Clause, shape: Shape) -> Shape:
        places = list(shape.devices)
        taken = {place.number for place in places if place.kind == kind}
        for word in clause.rest(f"a {kind} such as 0@1"):
            numbers, at, node = word.text.partition("@")
            if not at:
                raise clause.error(f'"{word.text[:40]}" names no NUMA node', cure="write it like 0-3@1", word=word)
            numa = None if node == "?" else _node(clause, shape, word, node)
            for number in clause.parsed(word, numbers, parse_numbers, "write it like 0-3@1"):
                if number in taken:
                    raise clause.error(f"{kind} {number} is placed twice", word=word)
                if len(places) == MOST_DEVICES:
                    raise clause.error(f"more than {MOST_DEVICES} devices", word=word)
                taken.add(number)
                places.append(DevicePlace(kind, number, numa))
        return replace(shape, devices=tuple(sorted(places, key=lambda place: (place.kind, place.number))))

    return devices


def _node(clause: Clause, shape: Shape, word: Word, text: str) -> int:
    count = shape.cpu_nodes + len(shape.more_nodes)
    if not re.fullmatch(r"[0-9]{1,6}", text) or int(text) >= count:
        raise clause.error(f'there is no NUMA node "{text[:40]}"', cure=f"they go from 0 to {count - 1}", word=word)
    return int(text)


def _links(clause: Clause, shape: Shape) -> Shape:
    kind = clause.take("a kind of link")
    if not _LINK_KIND.fullmatch(kind.text):
        message = f'"{kind.text[:40]}" is no kind of link'
        raise clause.error(message, cure="write PIX, PXB, PHB, NODE, SYS or NV18", word=kind)
    known = {place.number for place in shape.devices if place.kind == "gpu"}
    links = list(shape.links)
    for word in clause.rest("a set of GPUs such as 0-3"):
        numbers = clause.parsed(word, word.text, parse_numbers, "write it like 0-3")
        if not known.issuperset(numbers):
            missing = min(set(numbers) - known)
            raise clause.error(f"there is no gpu {missing}", cure="place it with a part such as gpu 0-3@1", word=word)
        links.append((kind.text, tuple(numbers)))
    return replace(shape, links=tuple(links))


_PARTS: dict[str, PartReader] = {
    "memory": _memory,
    "hugepages": _hugepages,
    "plus": _plus,
    "l3": _l3,
    "distances": _distances,
    "smt": _smt,
    "gpu": _devices("gpu"),
    "nic": _devices("nic"),
    "links": _links,
}
_SHAPE_CURE = "write it like 2 sockets x 2 numa x 8 cores x 2 threads"
_PARTS_CURE = f"known are 64Gi per numa, {', '.join(_PARTS)}"
