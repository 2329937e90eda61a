"""Loading without delay."""

import gc
import sys
from collections.abc import Iterator
from contextlib import contextmanager


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
    """It takes typing's own where `typing_extensions` is missing, which takes longer to load than all of click."""
    missing = "typing_extensions" not in sys.modules
    if missing:
        sys.modules["typing_extensions"] = None  # type: ignore[assignment]
    try:
        import msgspec  # noqa: F401
    finally:
        if missing:
            del sys.modules["typing_extensions"]
