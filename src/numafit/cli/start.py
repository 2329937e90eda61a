"""Loading without delay."""

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from types import SimpleNamespace


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


def load_msgspec() -> None:
    """It takes typing's own where `typing_extensions` is missing, which takes longer to load than all of click. And it
    loads `uuid`, which asks `platform` for one word at that time: whose loading takes longer than that of `uuid`."""
    stand_ins = {"typing_extensions": None, "platform": SimpleNamespace(system=lambda: os.uname().sysname)}
    missing = {name: module for name, module in stand_ins.items() if name not in sys.modules}
    if sys.platform != "linux" or "msgspec" in sys.modules:
        return
    sys.modules.update(missing)  # type: ignore[arg-type]
    try:
        import msgspec  # noqa: F401
    finally:
        for name in missing:
            del sys.modules[name]
