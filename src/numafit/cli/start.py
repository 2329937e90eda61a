"""Loading without delay."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import ModuleType, SimpleNamespace


@contextmanager
def quickly() -> Iterator[None]:
    """What is loaded stays: to look for garbage in it, over and over, makes a start slower."""
    looking = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if looking:
            gc.enable()


class _Later(ModuleType):
    """A module that is loaded when something of it is asked for."""

    def __getattr__(self, name: str) -> object:
        from importlib import import_module

        return getattr(import_module(self.__name__), name)


def load_base(*, database: bool = False) -> None:
    """msgspec and pathlib, which nearly every module of ours uses, and sqlite3 for a `database`, without what these
    load for features that hardly a command uses.

    msgspec looks for `typing_extensions`, which takes longer to load than all of click, and takes typing's own where
    that is missing. It describes schemas with `msgspec.inspect` and `textwrap`. Of `datetime` it takes the types, as
    sqlite3 does: those of `_datetime`. `uuid` asks `platform` for one word, and libuuid for a way to make new ones.
    pathlib quotes for `as_uri` alone."""
    if sys.platform != "linux" or "msgspec" in sys.modules:
        return
    import _datetime  # type: ignore[import-not-found]

    stand_ins: dict[str, object] = {
        "typing_extensions": None,
        "_uuid": None,
        "platform": SimpleNamespace(system=lambda: os.uname().sysname),
        "datetime": _datetime,
        "textwrap": _Later("textwrap"),
        "msgspec.inspect": _Later("msgspec.inspect"),
        "urllib.parse": SimpleNamespace(quote_from_bytes=_quote_from_bytes),
    }
    missing = {name: module for name, module in stand_ins.items() if name not in sys.modules}
    sys.modules.update(missing)  # type: ignore[arg-type]
    try:
        import pathlib  # noqa: F401

        import msgspec  # noqa: F401

        if database:
            import sqlite3  # noqa: F401
    finally:
        for name in missing:
            del sys.modules[name]


def _quote_from_bytes(text: bytes) -> str:
    from urllib.parse import quote_from_bytes

    return quote_from_bytes(text)
