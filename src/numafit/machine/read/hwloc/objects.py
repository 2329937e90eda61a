"""The objects of an hwloc XML file, version 2, as a plain tree; nothing in it is interpreted yet.

The file may come from anywhere, so entities are refused, and so are a deep nesting and odd numbers.
"""

from xml.parsers import expat

from numafit.bits import LARGEST_ID
from numafit.errors import InputError
from numafit.machine.read.text import whole_number

DEEPEST = 250


class HwlocObject:
    """One `<object>`: a package, a cache, a PCI device, … `parent` is None for the machine itself."""

    __slots__ = ("attributes", "children", "infos", "line", "pages", "parent", "type")

    def __init__(self, attributes: dict[str, str], parent: "HwlocObject | None", line: int) -> None:
        self.type = attributes.get("type", "")
        self.attributes = attributes
        self.parent = parent
        self.line = line
        self.children: list[HwlocObject] = []
        self.infos: dict[str, str] = {}
        self.pages: list[tuple[str, str]] = []
        """Page size and number of pages, for a NUMA node."""

    def up(self, type: str) -> "HwlocObject | None":
        """The nearest object of that type above it."""
        above = self.parent
        while above is not None and above.type != type:
            above = above.parent
        return above


class DistanceMatrix:
    """One `<distances2>`: a matrix between objects; the numbers are split over several elements."""

    def __init__(self, attributes: dict[str, str]) -> None:
        self.attributes = attributes
        self.indexes: list[str] = []
        self.values: list[str] = []


class CpuKind:
    def __init__(self, attributes: dict[str, str]) -> None:
        self.attributes = attributes
        self.infos: dict[str, str] = {}


class HwlocTopology:
    """The whole file. `objects` are in the order of the file, the machine first."""

    def __init__(self, source: str) -> None:
        self.source = source
        self.version = ""
        self.objects: list[HwlocObject] = []
        self.distances: list[DistanceMatrix] = []
        self.cpu_kinds: list[CpuKind] = []

    def error(self, message: str, line: int | None = None, cure: str = "") -> InputError:
        return InputError(message, source=self.source, line=line, cure=cure)

    def mask(self, found: HwlocObject, name: str) -> int:
        return self.mask_of(found.attributes.get(name, ""), found.line)

    def mask_of(self, text: str, line: int | None = None) -> int:
        """`0x000000ff,0xffffffff`: words of 32 bits, the highest first; an empty word may stand for 0."""
        words = text.split(",")
        if len(words) > LARGEST_ID // 32:
            raise self.error("a set of too many ids", line)
        digits = [word.strip().removeprefix("0x") for word in words]
        if not all(len(word) <= 8 and all(digit in "0123456789abcdefABCDEF" for digit in word) for word in digits):
            raise self.error(f'"{text[:60]}" is not a set of ids', line)
        return int("".join(word.zfill(8) for word in digits), 16)

    def number(self, found: HwlocObject, name: str, largest: int = LARGEST_ID) -> int | None:
        """None when the attribute is missing."""
        text = found.attributes.get(name)
        if text is None:
            return None
        number = whole_number(text, largest)
        if number is None:
            raise self.error(f'{name}="{text[:40]}" is not a number that fits', found.line)
        return number

    def index(self, found: HwlocObject) -> int:
        """The operating system's number of it."""
        number = self.number(found, "os_index")
        if number is None:
            raise self.error(f"a {found.type} without os_index", found.line)
        return number


class _Reader:
    def __init__(self, source: str) -> None:
        self.topology = HwlocTopology(source)
        self.depth = 0
        self.open: list[HwlocObject] = []
        self.inside: DistanceMatrix | CpuKind | None = None
        self.collect: list[str] | None = None
        self.text: list[str] = []
        self.parser = expat.ParserCreate()
        self.parser.buffer_text = True
        self.parser.StartElementHandler = self.start
        self.parser.EndElementHandler = self.end
        self.parser.CharacterDataHandler = self.characters
        self.parser.EntityDeclHandler = self.entity

    @property
    def line(self) -> int:
        return self.parser.CurrentLineNumber

    def entity(self, *_: object) -> None:
        raise self.topology.error("entities are not allowed in it", self.line, cure="hwloc itself writes none")

    def start(self, name: str, attributes: dict[str, str]) -> None:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.topology.error(f"nested more than {DEEPEST} levels deep", self.line)
        if self.depth == 1:
            self._root(name, attributes)
        elif name == "object":
            parent = self.open[-1] if self.open else None
            found = HwlocObject(attributes, parent, self.line)
            if parent is not None:
                parent.children.append(found)
            self.open.append(found)
            self.topology.objects.append(found)
        elif name == "info":
            owner = self.inside if isinstance(self.inside, CpuKind) else self.open[-1] if self.open else None
            if owner is not None:
                owner.infos[attributes.get("name", "")] = attributes.get("value", "")
        elif name == "page_type" and self.open:
            self.open[-1].pages.append((attributes.get("size", ""), attributes.get("count", "")))
        elif name == "distances2":
            self.inside = DistanceMatrix(attributes)
            self.topology.distances.append(self.inside)
        elif name == "cpukind":
            self.inside = CpuKind(attributes)
            self.topology.cpu_kinds.append(self.inside)
        elif isinstance(self.inside, DistanceMatrix) and name in ("indexes", "u64values"):
            self.collect = self.inside.indexes if name == "indexes" else self.inside.values

    def _root(self, name: str, attributes: dict[str, str]) -> None:
        cure = "write it with: lstopo --of xml"
        if name != "topology":
            raise self.topology.error(f"XML of <{name[:40]}>, not the <topology> of hwloc", self.line, cure)
        version = attributes.get("version", "1")
        if not version.startswith("2"):
            raise self.topology.error(
                f"hwloc XML of version {version[:10]}; version 2 is needed",
                self.line,
                "write it with lstopo of hwloc 2; or give what lstopo prints as text, which is understood, too",
            )
        self.topology.version = version

    def characters(self, text: str) -> None:
        if self.collect is not None:
            self.text.append(text)

    def end(self, name: str) -> None:
        self.depth -= 1
        if name == "object":
            self.open.pop()
        elif name in ("distances2", "cpukind"):
            self.inside = None
        elif self.collect is not None:
            self.collect += "".join(self.text).split()
            self.collect = None
            self.text = []


def read_objects(text: str, source: str) -> HwlocTopology:
    reader = _Reader(source)
    try:
        reader.parser.Parse(text.encode("utf-8", "replace"), True)
    except expat.ExpatError as error:
        message = f"not XML: {expat.ErrorString(error.code)}"
        raise InputError(message, source=source, line=error.lineno, column=error.offset + 1) from None
    except (LookupError, ValueError) as error:
        # Python's word on an encoding that it does not know, or that the parser cannot take.
        raise InputError(f"not XML: {error}", source=source, line=1) from None
    return reader.topology
