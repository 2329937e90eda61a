"""Who asks, and how often in vain: wrong tokens are answered late, and each request can be told to a log."""

import asyncio
from typing import Any

from numafit.service.api.peer import peer_of
from numafit.service.problem import refused
from numafit.show.records.time import now_text
from numafit.show.words import printable

LATE_SECONDS = 1.0
MOST_LATE = 64
"""Wrong tokens that wait for their answer at a time, wherever they came from: so many guesses a second."""


class Guesses:
    """Of tokens. Whoever has the right one is answered at once, also from an address where others guess: behind a proxy
    all have the same."""

    def __init__(self) -> None:
        self.late = 0

    async def wait(self) -> None:
        """Raises ProblemError where too many wait already."""
        if self.late >= MOST_LATE:
            later = {"Retry-After": "1"}
            raise refused(429, "too many wrong tokens came", cure="come again later", headers=later)
        self.late += 1
        try:
            await asyncio.sleep(LATE_SECONDS)
        finally:
            self.late -= 1


def address_of(scope: Any) -> str:
    """Without the port; the user behind a unix socket."""
    peer = peer_of(scope)
    if peer is not None:
        return f"uid={peer.uid}"
    client = scope.get("client")
    return str(client[0]) if client else "-"


def access_line(scope: Any, status: int, seconds: float) -> str:
    """`status` is 0 where the client has gone before an answer."""
    # Without what follows the question mark: people write secrets there.
    path = printable(scope["path"])[:500]
    words = (now_text(), address_of(scope), printable(scope["method"]), path, status or "-", f"{seconds * 1000:.0f}ms")
    return " ".join(map(str, words))
