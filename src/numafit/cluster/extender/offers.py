"""What was offered to whom. An offer counts until its pod is seen bound, is asked about again, is gone, or has waited
for too long: then the scheduler has given it up without telling anybody."""

from collections.abc import Callable, Sequence

import msgspec

OFFER_SECONDS = 60.0
"""A scheduler binds within seconds, unless volumes have to be made first."""
MOST_TRIED = 64
"""Nodes that are remembered as tried by one pod."""


class NodeOffer(msgspec.Struct):
    names: tuple[str, ...]
    """The best first."""
    end: float
    tried: tuple[str, ...] = ()
    """Offered before, to no effect, the last ones at the end: others come first."""
    counts: bool = True
    """Not where it has ended; then only what was tried is remembered."""


class OfferBook:
    """By UID of the pod. `withdraw` is called for what counts no longer."""

    def __init__(self, withdraw: Callable[[str], None], seconds: float = OFFER_SECONDS) -> None:
        self._withdraw, self.seconds = withdraw, seconds
        self._offers: dict[str, NodeOffer] = {}
        self.expired = 0

    def __len__(self) -> int:
        return sum(own.counts for own in self._offers.values())

    def tried(self, uid: str) -> tuple[str, ...]:
        """By a pod that is asked about again: whatever was offered to it did not work there."""
        offer = self._offers.get(uid)
        return () if offer is None else (*offer.tried, *offer.names)

    def offered(self, uid: str) -> tuple[str, ...]:
        offer = self._offers.get(uid)
        return () if offer is None else offer.names

    def made(self, uid: str, names: Sequence[str], tried: Sequence[str], now: float) -> None:
        self._offers.pop(uid, None)
        self._offers[uid] = NodeOffer(tuple(names), now + self.seconds, tuple(tried)[-MOST_TRIED:])

    def over(self, uid: str) -> None:
        """Seen bound, gone, or refused: others know more about it by now."""
        self._offers.pop(uid, None)

    def sweep(self, now: float) -> bool:
        """Whether something ended: what a node had kept is free. What was tried is remembered as long again."""
        ended = False
        for uid, offer in list(self._offers.items()):
            if now < offer.end:
                # In the order of time.
                break
            if not offer.counts:
                del self._offers[uid]
                continue
            self._withdraw(uid)
            self.expired += 1
            ended = True
            del self._offers[uid]
            self._offers[uid] = NodeOffer(offer.names, now + self.seconds, offer.tried, counts=False)
        return ended
