"""Which pods need a decision: those that some node may refuse though its sums have room. Of all others a scheduler
knows as much as we do."""

import time
from collections.abc import Callable, Hashable

from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.pods import ClusterPod
from numafit.fleet.needs import NeedMemory, need_of
from numafit.fleet.verdicts import shape_digest

ANSWER_SECONDS = 1.0
"""For which an answer to equal pods counts: a cluster changes all the time, and its kinds of nodes seldom."""
MOST_ANSWERS = 10_000


def needs_of(live: LiveFleet, clock: Callable[[], float] = time.monotonic) -> Callable[[ClusterPod], bool]:
    memory = NeedMemory()
    answers: dict[Hashable, tuple[float, bool]] = {}

    def needs(pod: ClusterPod) -> bool:
        key, now = (shape_digest(pod.pod), pod.pod.demands), clock()
        since, found = answers.get(key, (-ANSWER_SECONDS, False))
        if now - since >= ANSWER_SECONDS:
            if len(answers) >= MOST_ANSWERS:
                answers.clear()
            found = need_of(live.fleet, pod.pod, memory) is not None
            answers[key] = (now, found)
        return found

    return needs
