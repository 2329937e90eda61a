"""Waiting pods are told why they wait: a few each second, and sentences are made only for those who are due."""

import asyncio
import time
from collections.abc import Callable, Iterable

from numafit.cluster.place.candidates import PlacedCluster
from numafit.cluster.place.counts import PlaceCounts
from numafit.cluster.place.faults import Faults
from numafit.cluster.place.waiting.entries import waits
from numafit.cluster.place.waiting.notices import MOST_EACH_SECOND, MOST_SECONDS, NoticeBook, Teller

TELL_SECONDS = 1.0
NO_SENTENCE = "It is not known why: a fault of numafit, which its log tells."

WaitingSentences = Callable[[], Iterable[tuple[str, Callable[[], str]]]]
"""UIDs of those that wait, and what makes the sentence for each; it is empty where one waits no longer."""


class WaitingTeller:
    def __init__(
        self,
        cluster: PlacedCluster,
        waiting: WaitingSentences,
        book: NoticeBook,
        teller: Teller,
        counts: PlaceCounts,
        faults: Faults,
    ) -> None:
        self._cluster, self._waiting, self._book, self._teller = cluster, waiting, book, teller
        self._counts, self._faults = counts, faults

    async def run(self) -> None:
        while True:
            await asyncio.sleep(TELL_SECONDS)
            now = time.monotonic()
            spent, told = 0.0, 0
            for uid, make in self._book.due(self._waiting(), now):
                if spent >= MOST_SECONDS or told >= MOST_EACH_SECOND:
                    break
                begun = time.monotonic()
                sentence = NO_SENTENCE
                with self._faults.passed_over("why a pod waits"):
                    sentence = make()
                spent += time.monotonic() - begun
                pod = self._cluster.pods.get(uid)
                if pod is not None and waits(pod) and self._book.is_news(uid, sentence, now):
                    told += 1
                    self._book.tell(uid, sentence, now)
                    if await self._teller.waiting(pod, sentence):
                        self._counts.told += 1
                await asyncio.sleep(0)
