"""Who asks, and how often in vain: wrong tokens are answered late, and each request can be told to a log."""

import asyncio
from typing import Any

from numafit.service.api.peer import peer_of
from numafit.show.records.time import now_text
from numafit.show.words import printable

LATE_SECONDS = 1.0
MOST_LATE = 8
"""Wrong tokens of one address that wait for their answer at a time: so many guesses a second."""


class Guesses:
    """Of tokens. While too many wait, the next one of that address is not looked at, right or wrong: else who guesses
    would know it by the answer that comes at once."""

    def __init__(self) -> None:
        self._late: dict[str, int] = {}

    def too_many(self, address: str) -> bool:
        return self._late.get(address, 0) >= MOST_LATE

    async def late(self, address: str) -> None:
        self._late[address] = self._late.get(address, 0) + 1
        try:
            await asyncio.sleep(LATE_SECONDS)
        finally:
            self._late[address] -= 1
            if not self._late[address]:
                del self._late[address]


def address_of(scope: Any) -> str:
    """Without the port; the user behind a unix socket."""
    peer = peer_of(scope)
    if peer is not None:
        return f"uid={peer.uid}"
    client = scope.get("client")
    return str(client[0]) if client else "-"


def access_line(scope: Any, status: int, seconds: float) -> str:
    """`status` is 0 where the client has gone before an answer."""
    query = scope.get("query_string", b"").decode("latin-1")
    path = printable(scope["path"] + (f"?{query}" if query else ""))[:500]
    words = (now_text(), address_of(scope), printable(scope["method"]), path, status or "-", f"{seconds * 1000:.0f}ms")
    return " ".join(map(str, words))
