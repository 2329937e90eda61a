"""What else could come out of a start of the kubelet, whose static pods come in any order.

A tree of beginnings: who comes next, and what is chosen for him. Two beginnings of the same pods with the same
decisions and the same state of the managers go on alike, so only one of them is followed. Where that is still too much,
orders in which one pod comes first or last are tried before all others: most of those who lose their place to another
are found by them.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec

from numafit.decision.decide import Load, decide, load_after, load_beside
from numafit.decision.decision import Decision, NodeShort, NothingToEvict, Unsuited
from numafit.decision.doubt.other import Extent
from numafit.decision.doubt.script import ScriptedChoices
from numafit.decision.history.restart import Batch
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod

Outcomes = frozenset[tuple[str, int]]
"""(pod UID, number of what was decided on it)."""


class Order(msgspec.Struct, frozen=True):
    """An order of the static pods that leads to an outcome of its own."""

    uids: tuple[str, ...]
    script: tuple[int, ...]
    """Of the other draws, one pod after the other."""


class Orders(msgspec.Struct, frozen=True):
    found: tuple[Order, ...]
    """Without that which is shown."""
    extent: Extent


def decided(decision: Decision) -> tuple[object, ...]:
    """What a decision is to those who ask who runs and who holds what; amounts in messages follow from others."""
    evicted = {victim.pod.uid for victim in decision.evicted}
    held = decision.containers if decision.admitted else None
    return decision.admitted, decision.reason, bool(decision.panic), decision.resize, held, evicted


def orders_of_start(batch: Batch, most: int, budget: int, *, near: bool = True) -> Orders:
    """Up to `most` orders, each with another outcome; after `budget` decisions no further one is looked for. `near`: as
    like the one that is shown as can be, which takes as many again."""
    search = _Search(batch, budget)
    shown = search.run(batch.static)
    search.settled = _is_settled(batch, search.run(batch.static, others=()))
    if search.settled and not shown.script:
        return Orders((), "all")
    search.found[shown.outcomes] = Order(shown.order, ())
    complete = search.look(shown, most + 1)
    extent: Extent = "all" if complete else "more" if len(search.found) > most + 1 else "not searched"
    found = [own for outcomes, own in search.found.items() if outcomes != shown.outcomes]
    search.budget = search.made + budget if near else 0
    return Orders(tuple(search.nearest(own) for own in found[:most]), extent)


class _Beginning(msgspec.Struct, frozen=True):
    """So many of the pods have been decided."""

    ledger: Ledger
    load: Load
    left: tuple[Pod, ...]
    """Static pods that have not come."""
    others: tuple[Pod, ...]
    order: tuple[str, ...] = ()
    script: tuple[int, ...] = ()
    outcomes: Outcomes = frozenset()
    decisions: tuple[Decision, ...] = ()
    crashed: bool = False

    @property
    def ended(self) -> bool:
        return self.crashed or not (self.left or self.others)


class _Search:
    def __init__(self, batch: Batch, budget: int) -> None:
        self.batch = batch
        self.node = batch.situation.node
        self.offered = batch.situation.offered
        self.budget = budget
        self.made = 0
        self.settled = False
        """No order of the static pods matters."""
        self.found: dict[Outcomes, Order] = {}
        self.kinds: dict[str, list[tuple[object, ...]]] = {}
        """Pod UID -> what was decided on it, by its number."""
        self.known: dict[Outcomes, list[tuple[object, ...]]] = {}
        """The managers' states of the beginnings that were followed."""
        self.root = _Beginning(batch.situation.ledger, Load(), batch.static, batch.others)

    def run(self, order: Sequence[Pod], others: Sequence[Pod] | None = None) -> _Beginning:
        """With numafit's choices in all else."""
        beginning = self.root
        for pod in (*order, *(self.batch.others if others is None else others)):
            if beginning.crashed:
                break
            beginning, _ = self._with(beginning, pod, ())
        return beginning

    def look(self, shown: _Beginning, most: int) -> bool:
        """Whether all of them were found."""
        for order in () if self.settled else _first_and_last(self.batch.static, shown.decisions):
            if len(self.found) > most or self.made > self.budget // 2:
                break
            self._keep(self.run(order))
        if len(self.found) > most:
            return False
        stack = [self._following(self.root)]
        while stack:
            if len(self.found) > most or self.made > self.budget:
                return False
            beginning = next(stack[-1], None)
            if beginning is None:
                stack.pop()
            elif beginning.ended:
                self._keep(beginning)
            elif self._is_new(beginning):
                stack.append(self._following(beginning))
        return True

    def nearest(self, found: Order) -> Order:
        """The same outcome by an order that is nearer to the one that is shown."""
        if any(found.script):
            return found
        pods = {pod.uid: pod for pod in self.batch.static}
        place = {uid: number for number, uid in enumerate(pods)}
        outcomes = next(key for key, own in self.found.items() if own is found)
        order = list(found.uids)
        if len(order) != len(pods):
            # A crash ended it.
            order += [uid for uid in pods if uid not in order]
        tried: set[str] = set()
        while self.made < self.budget:
            wrong = {uid: _inversions(order, uid, place) for uid in order if uid not in tried}
            uid = max(wrong, key=wrong.__getitem__, default="")
            if not uid or not wrong[uid]:
                break
            nearer = self._moved_home(order, uid, place, pods, outcomes)
            tried = {*tried, uid} if nearer == order else {uid}
            order = nearer
        return Order(tuple(order), ())

    def _moved_home(
        self, order: list[str], uid: str, place: Mapping[str, int], pods: Mapping[str, Pod], outcomes: Outcomes
    ) -> list[str]:
        """As near to its place as the outcome allows."""
        here = order.index(uid)
        rest = [other for other in order if other != uid]
        later = [i for i, other in enumerate(rest) if i >= here and place[other] < place[uid]]
        earlier = [i for i, other in enumerate(rest) if i < here and place[other] > place[uid]]
        far = later[-1] + 1 if later else earlier[0]
        places = range(here + 1, far + 1) if later else range(here - 1, far - 1, -1)
        best = order
        low, high, middle = 0, len(places) + 1, len(places)
        while high - low > 1 and self.made < self.budget:
            tried = [*rest[: places[middle - 1]], uid, *rest[places[middle - 1] :]]
            if self.run([pods[own] for own in tried]).outcomes == outcomes:
                low, best = middle, tried
            else:
                high = middle
            middle = (low + high) // 2
        before, after = (sum(_inversions(each, own, place) for own in each) for each in (order, best))
        return best if after < before else order

    def _following(self, beginning: _Beginning) -> Iterator[_Beginning]:
        next_static = beginning.left[:1] if self.settled else beginning.left
        for pod in next_static or beginning.others[:1]:
            script: list[int] | None = []
            while script is not None:
                child, choices = self._with(beginning, pod, script)
                script = choices.following()
                yield child

    def _with(self, beginning: _Beginning, pod: Pod, script: Sequence[int]) -> tuple[_Beginning, ScriptedChoices]:
        self.made += 1
        choices = ScriptedChoices(script)
        decision = decide(self.node, beginning.ledger, pod, self.offered, choices, others=beginning.load)
        kinds = self.kinds.setdefault(pod.uid, [])
        own = decided(decision)
        if own not in kinds:
            kinds.append(own)
        child = _Beginning(
            decision.ledger,
            load_after(self.node.settings, beginning.load, decision),
            tuple(other for other in beginning.left if other.uid != pod.uid),
            beginning.others if pod.static else beginning.others[1:],
            (*beginning.order, pod.uid) if pod.static else beginning.order,
            (*beginning.script, *choices.taken),
            beginning.outcomes | {(pod.uid, kinds.index(own))},
            (*beginning.decisions, decision),
            bool(decision.panic),
        )
        return child, choices

    def _keep(self, beginning: _Beginning) -> None:
        self.found.setdefault(beginning.outcomes, Order(beginning.order, beginning.script))

    def _is_new(self, beginning: _Beginning) -> bool:
        states = self.known.setdefault(beginning.outcomes, [])
        state = (*_state(beginning.ledger), beginning.ledger.active)
        if state in states:
            return False
        states.append(state)
        return True


def _state(ledger: Ledger) -> tuple[object, ...]:
    """What the managers hold; what they keep of the pod that came last is nothing to the next one."""
    cpu, memory, device = ledger.cpu, ledger.memory, ledger.device
    return (
        (cpu.default, cpu.entries, cpu.pod_entries, cpu.baselines),
        (memory.nodes, memory.entries, memory.pod_entries, memory.reuse_kept),
        (device.healthy, device.allocated, device.held),
    )


def _first_and_last(static: Sequence[Pod], decisions: Sequence[Decision]) -> Iterator[list[Pod]]:
    refused = {decision.pod.uid for decision in decisions if not decision.admitted}
    for pod in static:
        if pod.uid in refused:
            yield [pod, *(other for other in static if other is not pod)]
    for pod in static[::-1]:
        if pod.uid not in refused:
            yield [*(other for other in static if other is not pod), pod]
    yield list(static[::-1])


def _inversions(order: Sequence[str], uid: str, place: Mapping[str, int]) -> int:
    here = order.index(uid)
    return sum((i < here) != (place[other] < place[uid]) for i, other in enumerate(order) if other != uid)


def _is_settled(batch: Batch, static_pods: _Beginning) -> bool:
    """No order matters: nobody takes anything that he did not hold, and each fits beside all the others, or is refused
    by a manager, which nobody has changed."""
    static = static_pods.decisions
    if static_pods.crashed or static_pods.script:
        return False
    before = _state(batch.situation.ledger)
    if any(_state(decision.ledger) != before for decision in static):
        return False
    node, offered = batch.situation.node, batch.situation.offered
    if not static:
        return True
    end = static[-1].ledger
    load = Load()
    for decision in static:
        load = load_after(node.settings, load, decision)
    for decision in static:
        pod = decision.pod
        if not decision.admitted and not isinstance(decision.cause, NodeShort | NothingToEvict | Unsuited):
            continue
        if not decision.admitted or decision.evicted:
            return False
        again = decide(
            node, end, pod, offered, ScriptedChoices(), others=load_beside(node.settings, load, end, pod.uid)
        )
        if not again.admitted or again.evicted or _state(again.ledger) != before:
            return False
    return True
