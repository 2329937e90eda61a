"""Programs that are killed by chance and started again, as systemd or a kubelet would start them."""

import subprocess
import time
from collections import Counter
from collections.abc import Callable, Sequence
from random import Random

BETWEEN_KILLS = (1.0, 6.0)
DOWN = (0.0, 5.0)
"""Seconds from a kill to the next start."""
AGAIN_SECONDS = 1.0
"""After which what ended by itself is started again."""


class Component:
    """It runs when it is made; `begin` starts it once more, with the same flags."""

    def __init__(
        self, name: str, begin: Callable[[], subprocess.Popen[bytes]], running: subprocess.Popen[bytes]
    ) -> None:
        self.name, self._begin, self.process = name, begin, running
        self.due: float | None = None
        """When it is started again, while it is down."""

    @property
    def runs(self) -> bool:
        return self.process.poll() is None

    def kill(self) -> None:
        self.process.kill()
        self.process.wait()

    def begin(self) -> None:
        self.due = None
        self.process = self._begin()


class Killer:
    """All of it is done by one thread: the programs end with that."""

    def __init__(self, components: Sequence[Component], random: Random, say: Callable[[str], None]) -> None:
        self.components, self._random, self._say = components, random, say
        self._round: list[Component] = []
        self.kills: Counter[str] = Counter()
        self.ends: Counter[str] = Counter()
        """How often a program ended by itself: most of them do when what they need is away at their start."""

    def kill_for(self, seconds: float) -> None:
        end = time.monotonic() + seconds
        at = time.monotonic() + self._random.uniform(*BETWEEN_KILLS)
        while (now := time.monotonic()) < end:
            self.start_due(now)
            if now >= at and (own := self._next()) is not None:
                down = self._random.uniform(*DOWN)
                own.kill()
                own.due = now + down
                self.kills[own.name] += 1
                self._say(f"killed {own.name}, down for {down:.1f} s")
                at = now + self._random.uniform(*BETWEEN_KILLS)
            time.sleep(0.05)

    def _next(self) -> Component | None:
        """Each has its turn once in a round, so that a short run kills them all."""
        if not self._round:
            self._round = self._random.sample(self.components, len(self.components))
        own = self._round.pop()
        return own if own.runs else None

    def start_due(self, now: float) -> None:
        for own in self.components:
            if own.runs:
                continue
            if own.due is None:
                own.due = now + AGAIN_SECONDS
                self.ends[own.name] += 1
                self._say(f"{own.name} ended by itself with status {own.process.returncode}")
            elif now >= own.due:
                own.begin()
