"""What `numafit run` loads, in one file: some 200 modules, of which each costs Python a search, three looks and a read.

The file lies beside the compiled modules and is made as Python makes these: by the first who may write there, unless he
asked for no compiled files. It is as trustworthy, too: a module counts only while its source has the time and the size
that it had, and all of them only for the same Python and the same places to search. Other modules are loaded as ever.
"""

import _frozen_importlib_external as external
import marshal
import mmap
import os
import sys

TYPE_CHECKING = False
if TYPE_CHECKING:
    # What is loaded here is loaded without the file.
    from types import CodeType
    from typing import Any

NAME = "run.{}.bundle"
_HEAD = 8
"""Bytes with the length of the table, which comes next; then the codes."""


class ModuleBundle:
    def __init__(self, path: str) -> None:
        self.path = path
        self._before = set(sys.modules)
        """These were loaded without it, and will be the next time."""
        self._table: dict[str, tuple[str, bool, int, int, int, int]] = {}
        """Module -> its source, whether it is a package, time and size of the source, place and length of its code."""
        self._data: mmap.mmap | bytes = b""
        """Mapped, so that it stays the same whoever replaces or closes the file."""

    def use(self) -> None:
        """Modules that are not loaded yet come from it from now on."""
        try:
            with open(self.path, "rb", buffering=0) as file:
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            length = int.from_bytes(self._data[:_HEAD], "little")
            python, places, table = marshal.loads(self._data[_HEAD : _HEAD + length])
        except (OSError, EOFError, ValueError, TypeError):
            # There is none yet, or it is none.
            return
        if python == sys.version and places == _places():
            self._table = table
            sys.meta_path.insert(0, self)  # type: ignore[arg-type]

    def find_spec(self, name: str, path: object = None, target: object = None) -> object:
        """As Python asks a finder."""
        if name not in self._table:
            return None
        source, package, *known, place, length = self._table[name]
        try:
            if list(_state(source)) != known:
                return None
        except OSError:
            return None
        places = [os.path.dirname(source)] if package else None
        loader = _Loader(name, source, self._data[place : place + length])
        return external.spec_from_file_location(name, source, loader=loader, submodule_search_locations=places)

    def keep(self) -> None:
        """With what was loaded beside it, if that is anything and it may be written. Who searches in places of his own
        leaves it to the others."""
        if sys.dont_write_bytecode or "PYTHONPATH" in os.environ:
            return
        new = [
            name
            for name, module in sys.modules.items()
            if name not in self._before and type(getattr(module, "__loader__", None)) is external.SourceFileLoader
        ]
        if not new:
            return
        from contextlib import suppress

        made = f"{self.path}.{os.getpid()}"
        try:
            with open(made, "xb") as file:
                file.write(self._with(new))
            os.replace(made, self.path)
        except OSError:
            # Not here, or not now: as without it.
            with suppress(OSError):
                os.unlink(made)

    def _with(self, new: list[str]) -> bytes:
        table: dict[str, tuple[str, bool, int, int, int, int]] = {}
        codes: list[bytes] = []
        place = 0
        for name in sorted({*self._table, *new}):
            found = _compiled(name, sys.modules.get(name)) if name in new else self._kept(name)
            if found is not None:
                *about, code = found
                table[name] = (*about, place, len(code))  # type: ignore[assignment]
                place += len(code)
                codes.append(code)
        # The places of codes move with the length of the table, which says them: blanks make room.
        begin = _HEAD + len(marshal.dumps((sys.version, _places(), table))) + 16 * len(table)
        moved = {name: (*entry[:4], begin + entry[4], entry[5]) for name, entry in table.items()}
        head = marshal.dumps((sys.version, _places(), moved))
        return b"".join([len(head).to_bytes(_HEAD, "little"), head.ljust(begin - _HEAD), *codes])

    def _kept(self, name: str) -> tuple[str, bool, int, int, bytes] | None:
        *about, place, length = self._table[name]
        return (*about, self._data[place : place + length])  # type: ignore[return-value]


def own_bundle() -> ModuleBundle | None:
    """None: this Python keeps compiled modules elsewhere, or not at all."""
    tag = sys.implementation.cache_tag
    if tag is None or sys.pycache_prefix is not None or sys.flags.optimize:
        return None
    folder = os.path.dirname(os.path.dirname(__file__))
    return ModuleBundle(os.path.join(folder, "__pycache__", NAME.format(tag)))


def _places() -> tuple[str, ...]:
    """The first one is that of the program, or where the user is; no module of ours or of Python lies there."""
    return tuple(sys.path[1:])


def _state(source: str) -> tuple[int, int]:
    found = os.stat(source)
    return found.st_mtime_ns, found.st_size


def _compiled(name: str, module: object) -> tuple[str, bool, int, int, bytes] | None:
    """None: it has no code, or its source changes now."""
    loader: Any = getattr(module, "__loader__", None)
    try:
        before = _state(loader.path)
        code = loader.get_code(name)
        if code is None or _state(loader.path) != before:
            return None
    except (OSError, ImportError, SyntaxError):
        return None
    return loader.path, hasattr(module, "__path__"), *before, marshal.dumps(code)


class _Loader(external.SourceFileLoader):
    """That of the source, which others may ask for it; the code is there already."""

    def __init__(self, name: str, path: str, code: bytes) -> None:
        super().__init__(name, path)
        self._code = code

    def get_code(self, fullname: str) -> "CodeType | None":
        code: CodeType = marshal.loads(self._code)
        return code
