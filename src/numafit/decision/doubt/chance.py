"""What else could have come out where the kubelet leaves a decision to chance.

A decision is made again and again, each time with other choices, until no other ones are left or enough outcomes are
found. Every outcome listed is one that some order of Go's maps leads to; the decisions before it are as they are. A
restart, and a resize with those that are tried again after it, is one decision in this: what came out of the whole is
compared.
"""

from collections.abc import Callable, Mapping, Sequence

from msgspec.structs import replace

from numafit.decision.decide import decide
from numafit.decision.decision import Decision
from numafit.decision.doubt.orders import decided, orders_of_start
from numafit.decision.doubt.other import Dependence, Other, Others
from numafit.decision.doubt.script import LastChoices, ScriptedChoices
from numafit.decision.history.coming import ChoicesMaker
from numafit.decision.history.event import AddPods, Event, RestartKubelet, StartKubelet
from numafit.decision.history.happen import happen
from numafit.decision.history.restart import batch_of
from numafit.decision.history.situation import Situation
from numafit.decision.history.step import Step
from numafit.decision.simulation import Happened, Simulation, play_events
from numafit.errors import some_of
from numafit.managers.protocol import Choices, Draw
from numafit.notes import Note

MOST_NAMED = 3
"""Of the events that a note is about."""
MOST_TRIES = 2000
"""Decisions that are made to find the outcomes of one."""
MOST_DECISIONS = 10000
"""Of pods at a restart, to find its outcomes."""
MOST_NOTED = 50
"""Outcomes of a restart that are looked at to say whose they are."""

OUTCOMES_HINT = " (`simulate --outcomes 5` lists others)"
FOLLOWS = "what it gets follows from what is left to chance before it"
_ORDER = "the order of the static pods at the restart, which is left to chance"
BY_ORDER_ADMITTED = f"whether it is admitted depends on {_ORDER}"
BY_ORDER_GIVEN = f"what it gets depends on {_ORDER}"


def others(
    made: Decision, again: Callable[[Choices], Decision], most: int, names: Mapping[str, str] | None = None
) -> Others:
    """Up to `most` outcomes of a decision besides the one that was made; `again` makes it with other choices. `names`
    of pods by their UIDs."""
    return _searched([made], lambda choices: [again(choices)], most, names or {})


def _searched(
    made: Sequence[Decision],
    again: Callable[[Choices], Sequence[Decision]],
    most: int,
    names: Mapping[str, str],
) -> Others:
    shown = [_outcome(decision) for decision in made]
    seen = [shown]
    found: list[Other] = []
    script: list[int] | None = []
    for _ in range(MOST_TRIES):
        if script is None:
            return Others(tuple(found), "all")
        choices = ScriptedChoices(script)
        decisions = again(choices)
        script = choices.following()
        outcome = [_outcome(decision) for decision in decisions]
        if outcome in seen:
            continue
        if len(found) == most:
            return Others(tuple(found), "more")
        seen.append(outcome)
        found.append(Other(_unlike(made, decisions, _outcome), _named(choices.depends, names)))
    return Others(tuple(found), "all" if script is None else "not searched")


def others_of_run(simulation: Simulation, most: int) -> dict[int, Others]:
    """By the number of the step, of a restart its first one; only where there are others, or may be."""
    found: dict[int, Others] = {}
    for first, before, happened in _drawn_events(simulation):
        found |= _others_of(first, before, happened, most)
    return {number: own for number, own in found.items() if own.found or own.extent != "all"}


def _drawn_events(simulation: Simulation) -> list[tuple[int, Situation, Happened]]:
    """The number of its first step, and how the node stood before it."""
    found = []
    first, before = 0, simulation.begin
    for happened in simulation.happened:
        if any(step.draws for step in happened.steps):
            found.append((first, before, happened))
        first += len(happened.steps)
        before = happened.after
    return found


def _others_of(first: int, before: Situation, happened: Happened, most: int) -> dict[int, Others]:
    event, steps = happened.event, happened.steps
    names = _names(before, happened)
    if isinstance(event, RestartKubelet | StartKubelet):
        return {first: replace(_of_start(before, event, steps, most, names), steps=_numbers(first, steps))}
    if not isinstance(event, AddPods) or any(step.draws for step in steps if step.event == "resize"):
        return {first: replace(_of_event(before, event, steps, most, names), steps=_numbers(first, steps))}
    return {
        number: _of_step(before, step, most, names)
        for number, step in zip(_numbers(first, steps), steps, strict=True)
        if step.draws
    }


def _numbers(first: int, steps: Sequence[Step]) -> tuple[int, ...]:
    return tuple(range(first, first + len(steps)))


def _of_step(before: Situation, step: Step, most: int, names: Mapping[str, str]) -> Others:
    """A pod that came; with all decisions before it as they are."""
    ledger = before.ledger if step.before is None else step.before
    node = before.node if step.node is None else step.node

    def again(choices: Choices) -> Decision:
        return decide(node, ledger, step.decision.pod, before.offered, choices)

    return others(step.decision, again, most, names)


def _of_event(before: Situation, event: Event, steps: Sequence[Step], most: int, names: Mapping[str, str]) -> Others:
    def again(choices: Choices) -> Sequence[Decision]:
        return [step.decision for step in happen(before, event, lambda: choices).steps]

    return _searched([step.decision for step in steps], again, most, names)


def _of_start(
    before: Situation,
    event: RestartKubelet | StartKubelet,
    steps: Sequence[Step],
    most: int,
    names: Mapping[str, str],
    *,
    noted: bool = False,
) -> Others:
    """`noted`: for those who only ask whose outcome is open."""
    budget = MOST_DECISIONS // 5 if noted else MOST_DECISIONS
    found = orders_of_start(batch_of(before, event.how, Choices()), most, budget, near=not noted)
    listed = []
    for order in found.found:
        choices = ScriptedChoices(order.script, order.uids)
        played = happen(before, event, _at_start(choices)).steps
        decisions = _unlike([step.decision for step in steps], [step.decision for step in played], decided)
        listed.append(Other(decisions, _named(choices.depends, names)))
    return Others(tuple(listed), found.extent)


def _at_start(choices: Choices) -> ChoicesMaker:
    """These, for all but the reading of the state, which comes first."""
    makers = iter([Choices()])
    return lambda: next(makers, choices)


def _names(before: Situation, happened: Happened) -> dict[str, str]:
    there = (*before.ledger.active.values(), *before.waiting, *before.refused)
    decided_on = (step.decision.pod for step in happened.steps)
    return {pod.uid: pod.full_name for pod in (*there, *decided_on)}


def _named(depends: Sequence[Dependence], names: Mapping[str, str]) -> tuple[Dependence, ...]:
    return tuple(
        replace(own, taken=_full(own.taken, names), instead=_full(own.instead, names))
        if own.draw.kind in ("pods", "victim", "stale")
        else own
        for own in depends
    )


def _full(uids: Sequence[str], names: Mapping[str, str]) -> tuple[str, ...]:
    """Of a stale container the UID stands before its name."""
    found = []
    for text in uids:
        uid, slash, container = text.partition("/")
        found.append(f"{names.get(uid, uid)}{slash}{container}")
    return tuple(found)


def _unlike(
    made: Sequence[Decision], other: Sequence[Decision], told: Callable[[Decision], tuple[object, ...]]
) -> tuple[Decision, ...]:
    shown = {(decision.pod.uid, bool(decision.resize)): told(decision) for decision in made}
    return tuple(each for each in other if shown.get((each.pod.uid, bool(each.resize))) != told(each))


def _outcome(decision: Decision) -> tuple[object, ...]:
    return *decided(decision), decision.message, decision.panic


def chance_notes(simulation: Simulation) -> tuple[Note, ...]:
    """For each pod whose decision could have come out otherwise, or follows from one that could.

    Once for each name, with the events where there are several decisions about it.
    """
    steps = simulation.steps
    events = [number for number, each in enumerate(simulation.happened, 1) for _ in each.steps]
    times: dict[str, set[int]] = {}
    for event, step in zip(events, steps, strict=True):
        times.setdefault(step.decision.pod.full_name, set()).add(event)
    drawn: set[str] = set()
    found: dict[tuple[str, str], dict[str, None]] = {}
    for number, text in chance_sentences(simulation).items():
        name = steps[number].decision.pod.full_name
        if text != FOLLOWS:
            drawn.add(name)
        elif name in drawn:
            continue
        found.setdefault((name, text if text == FOLLOWS else f"{text}{OUTCOMES_HINT}"), {})[str(events[number])] = None
    return tuple(
        Note("left-to-chance", name, f"{_at(list(numbers)) if len(times[name]) > 1 else ''}{text}")
        for (name, text), numbers in found.items()
    )


def _at(events: Sequence[str]) -> str:
    return f"at event{'s' if len(events) > 1 else ''} {some_of(events, MOST_NAMED)}, "


def chance_sentences(simulation: Simulation) -> dict[int, str]:
    """By the number of the step: what is left to chance in it, and what on."""
    if not any(step.draws for step in simulation.steps):
        return {}
    own: dict[int, str] = {}
    for first, before, happened in _drawn_events(simulation):
        steps = happened.steps
        if isinstance(happened.event, RestartKubelet | StartKubelet):
            own |= _start_sentences(first, before, happened.event, steps)
            continue
        for number, step in zip(_numbers(first, steps), steps, strict=True):
            if step.draws and _differs(before, happened, step):
                own[number] = _text(step.draws)
    return dict(sorted((_followers(simulation) | own).items()))


def told_chances(simulation: Simulation) -> dict[int, str]:
    """The same as whole sentences, by the `id` of the decision: for its story."""
    steps = simulation.steps
    return {
        id(steps[number].decision): f"{text[0].upper()}{text[1:]}."
        for number, text in chance_sentences(simulation).items()
    }


def _differs(before: Situation, happened: Happened, step: Step) -> bool:
    """Other devices are another outcome at once; of orders only a try can tell."""
    if step.decision.admitted and any(draw.kind in ("devices", "preferred") for draw in step.draws):
        return True
    if step.event == "resize":
        return bool(_of_event(before, happened.event, happened.steps, 1, {}).found)
    return bool(_of_step(before, step, 1, {}).found)


def _start_sentences(
    first: int, before: Situation, event: RestartKubelet | StartKubelet, steps: Sequence[Step]
) -> dict[int, str]:
    found = _of_start(before, event, steps, MOST_NOTED, {}, noted=True)
    texts: dict[int, str] = {}
    for number, step in zip(_numbers(first, steps), steps, strict=True):
        shown = step.decision
        for other in found.found:
            mine = [each for each in other.decisions if each.pod.uid == shown.pod.uid and each.resize == shown.resize]
            if not mine:
                continue
            if any(own.draw.kind == "pods" for own in other.depends):
                verdict = any(each.admitted != shown.admitted for each in mine)
                if verdict or number not in texts:
                    texts[number] = BY_ORDER_ADMITTED if verdict else BY_ORDER_GIVEN
            elif number not in texts:
                drawn = [draw for draw in step.draws if draw.kind != "pods"]
                texts[number] = _text(drawn) if drawn else FOLLOWS
    return texts


def _followers(simulation: Simulation) -> dict[int, str]:
    """The decisions that came out otherwise in one other run. That none did there proves nothing."""
    first = next(number for number, step in enumerate(simulation.steps) if step.draws)
    if first + 1 == len(simulation.steps):
        return {}
    other = play_events(simulation.begin, simulation.events, LastChoices)
    found: dict[int, str] = {}
    number = 0
    for shown, played in zip(simulation.happened, other.happened, strict=True):
        # Amounts in the messages of a restart say only who came before.
        told = decided if isinstance(shown.event, RestartKubelet | StartKubelet) else _outcome
        there = {_subject(step): step.decision for step in played.steps}
        drawn = number <= first
        for step in shown.steps:
            decision = there.get(_subject(step))
            if decision is None or told(decision) != told(step.decision):
                if drawn and any(draw.kind == "pods" for draw in step.draws):
                    verdict = decision is None or decision.admitted != step.decision.admitted
                    found[number] = BY_ORDER_ADMITTED if verdict else BY_ORDER_GIVEN
                elif number > first:
                    found[number] = FOLLOWS
            number += 1
    return found


def _subject(step: Step) -> tuple[str, str]:
    return step.decision.pod.uid, step.event


def _text(draws: Sequence[Draw]) -> str:
    chosen = next((draw for draw in draws if draw.kind in ("devices", "preferred")), None)
    victim = next((draw for draw in draws if draw.kind == "victim"), None)
    if chosen is None and victim is not None:
        return f"which of {victim.candidates} equal pods is evicted for it is left to chance"
    if chosen is None:
        return "what it gets is left to chance"
    if chosen.kind == "devices":
        return f"which {chosen.count} of {chosen.candidates} {chosen.resource} it gets is left to chance"
    return f"which {chosen.resource} it gets is left to chance"
