"""How one who waits will be bound, as he found out before he slept; he tells it with his place in the queue."""

from collections.abc import Mapping

import msgspec


class Foreseen(msgspec.Struct, frozen=True):
    rung: str
    """One of those in `bind.target`."""
    folder: str = ""
    """In which the cgroup of his lease will be made; empty: none will."""
    notes: tuple[str, ...] = ()
    """Why no stronger rung can be reached; `LEASE` stands for the lease's id."""
    variables: Mapping[str, str] = {}
    """Those of the user's own that may stand against the lease."""
