"""A decision told: what was needed and free where, what each manager offered, what the merge made of it, and why.

All of it is read off the `Decision`; nothing is decided here a second time. The cause is a value (`claims`), and so is
the grid; `words` makes the texts beside them.
"""

from collections.abc import Mapping

import msgspec

from numafit.decision.decision import Decision, ManagerRefused, MergeStep, Unsuited
from numafit.decision.node import Node
from numafit.decision.story.cause import cause_of
from numafit.decision.story.claims import Cause, MergeRefused, TooMuch
from numafit.decision.story.grid import Namer, Row, grid_of
from numafit.decision.story.wanted import Wanted, wanted_of
from numafit.decision.story.words import cause_in_words, hint_in_words, hints_in_words
from numafit.errors import some_of
from numafit.ledger.ledger import Hint
from numafit.managers.ask import Ask, ask_of
from numafit.managers.cpu.manager import CPU
from numafit.managers.refused import (
    CpusShort,
    DevicesShort,
    MemoryNotPreferred,
    NoMemoryPlace,
    NoWiderMemory,
    WholeCoresShort,
)

Gone = Mapping[str, frozenset[str]]
"""Names of pods that are not there any more -> the resources of which they still count as holders."""
MOST_NAMED = 3
"""Of pods that are gone."""
NOBODY_EVICTED = (
    "The pod is critical, but the kubelet evicts others only for what the node as a whole lacks, not for this."
)


class Chapter(msgspec.Struct, frozen=True):
    """One merge of the decision."""

    container: str
    """Empty in the pod scope, where there is one merge for all containers."""
    grid: tuple[Row, ...]
    hints: Mapping[str, str]
    """Resource -> its hints in words; a manager without preference stands under its own name."""
    best: Hint
    outcome: str


class Story(msgspec.Struct, frozen=True):
    sentence: str
    chapters: tuple[Chapter, ...]
    cause: Cause
    """What the sentence says."""
    chance: str = ""
    """What of it was left to chance, in a sentence."""
    wanted: Wanted | None = None
    """Of a refusal that no merge made."""


def story_of(
    node: Node, decision: Decision, chance: str = "", named: Namer | None = None, gone: Gone | None = None
) -> Story:
    """`gone`: pods whose state still counted though they are not there any more; `named` gives names to such."""
    ask = ask_of(decision.pod, node.settings)
    chapters = tuple(_chapter(node, ask, step, named) for step in decision.merges or ())
    cause = cause_of(node, decision, ask)
    return Story(_sentence(decision, cause, gone=gone), chapters, cause, chance, wanted_of(node, decision, ask, named))


def decision_sentence(node: Node, decision: Decision, who: str = "", gone: Gone | None = None) -> str:
    """Why. `who` is what a merge rejects, where its reader knows neither a pod nor a container."""
    return _sentence(decision, cause_of(node, decision, ask_of(decision.pod, node.settings)), who, gone)


def _sentence(decision: Decision, cause: Cause, who: str = "", gone: Gone | None = None) -> str:
    placed = any(own.cpus is not None or own.memory or own.devices for own in decision.containers.values())
    text = cause_in_words(cause, who, placed=placed)
    # To be critical helps only where the node as a whole is short of something.
    if decision.pod.critical and isinstance(cause, MergeRefused | ManagerRefused | Unsuited):
        text = f"{text} {NOBODY_EVICTED}"
    short = _short(cause) if gone else frozenset()
    guilty = [name for name, held in (gone or {}).items() if held & short]
    if guilty:
        are = "it is" if len(guilty) == 1 else "they are"
        whose = some_of(guilty, MOST_NAMED)
        text = f"{text} What {whose} held counts until the kubelet has cleaned up, though {are} gone."
    return text


def _short(cause: Cause) -> frozenset[str]:
    """The resources of which others would have to hold less."""
    if isinstance(cause, MergeRefused):
        offers = [each for each in cause.cause.offers if not (isinstance(each, TooMuch) and each.healthy == 0)]
        return frozenset(name for each in offers for name in each.needs)
    if not isinstance(cause, ManagerRefused):
        return frozenset()
    why = cause.cause
    if isinstance(why, CpusShort | WholeCoresShort):
        return frozenset({CPU})
    if isinstance(why, DevicesShort):
        return frozenset({why.resource})
    return frozenset(why.needs) if isinstance(why, NoMemoryPlace | NoWiderMemory | MemoryNotPreferred) else frozenset()


def _chapter(node: Node, ask: Ask, step: MergeStep, named: Namer | None) -> Chapter:
    hints: dict[str, str] = {}
    for manager, own in zip(("devices", "cpu", "memory"), step.providers, strict=False):
        if not own:
            hints[manager] = "no preference"
        for resource, listed in (own or {}).items():
            hints[resource] = hints_in_words(listed)
    verdict = "accepts" if step.admit else "rejects"
    outcome = f"merged to {hint_in_words(step.best)}: {node.topology.policy} {verdict}"
    return Chapter(step.container, grid_of(node, ask, step, named), hints, step.best, outcome)
