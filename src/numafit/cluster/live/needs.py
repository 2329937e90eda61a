"""Which pods need a decision: those that some node may refuse though its sums have room. Of all others a scheduler
knows as much as we do."""

import time
from collections.abc import Callable, Hashable

from numafit.cluster.live.fleet import LiveFleet
from numafit.fleet.needs import NeedMemory, need_of
from numafit.fleet.verdicts import shape_digest
from numafit.workload.pod import Pod

ANSWER_SECONDS = 1.0
"""For which an answer to equal pods counts: a cluster changes all the time, and its kinds of nodes seldom."""
MOST_ANSWERS = 10_000


class NeedAnswers:
    def __init__(self, live: LiveFleet, clock: Callable[[], float] = time.monotonic) -> None:
        self._live, self._clock = live, clock
        self._memory = NeedMemory()
        self._answers: dict[Hashable, tuple[float, bool]] = {}

    def needed(self, pod: Pod) -> bool:
        key, now = (shape_digest(pod), pod.demands), self._clock()
        since, found = self._answers.get(key, (-ANSWER_SECONDS, False))
        if now - since >= ANSWER_SECONDS:
            if len(self._answers) >= MOST_ANSWERS:
                self._answers.clear()
            found = need_of(self._live.fleet, pod, self._memory) is not None
            self._answers[key] = (now, found)
        return found
