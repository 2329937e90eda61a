"""The question of a scheduler: which of these nodes, and in which order. Whatever goes wrong, all of them."""

import time
from collections.abc import Callable, Sequence
from functools import partial

import msgspec
from msgspec.structs import replace

from numafit.cluster.extender.counts import ExtenderCounts, FilterOutcome
from numafit.cluster.extender.messages import (
    MOST_SCORE,
    ExtenderArgs,
    HostPriority,
    SentNames,
    read_args,
    sent_names,
)
from numafit.cluster.extender.offers import OFFER_SECONDS, OfferBook
from numafit.cluster.extender.texts import refused_texts
from numafit.cluster.extender.waiting import RefusedPods
from numafit.cluster.live.fleet import LiveChange, LiveFleet
from numafit.cluster.live.pods import ClusterPod, PodKeeper, SentPod
from numafit.fleet.places import FleetPlace, Placing, places
from numafit.workload.pod import Pod


class ExtenderOptions(msgspec.Struct, frozen=True):
    offer: int | None = 1
    """Nodes that are offered at once; None: all that would admit the pod, and those that nobody knows."""
    seconds: float = OFFER_SECONDS


class Extender:
    """`needs` says of which pods nodes have to be chosen; of all others nothing is known here that a scheduler does not
    know. Each answer is made at once, one after the other: what is offered in one is known in the next."""

    def __init__(
        self,
        live: LiveFleet,
        needs: Callable[[Pod], bool],
        options: ExtenderOptions,
        counts: ExtenderCounts,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.live, self.needs, self.options, self.counts, self.clock = live, needs, options, counts, clock
        self.offers = OfferBook(live.withdraw, options.seconds)
        self.refused = RefusedPods(self._fits)
        self._keeper = PodKeeper()
        self._sent_pod = msgspec.json.Decoder(SentPod)
        self._latest: Pod | None = None
        """Who was asked about last and is offered nodes, and whether the one before was like it."""
        self._alike = False
        live.listen(self._heard)

    def filter(self, content: bytes) -> bytes:
        """Raises msgspec.MsgspecError for what no scheduler sends."""
        answer, afterwards = self.filtered(content)
        afterwards()
        return answer

    def filtered(self, content: bytes) -> tuple[bytes, Callable[[], None]]:
        """The answer, and what is noted of it: that comes before anything else, but who has asked need not wait for it.
        Raises msgspec.MsgspecError for what no scheduler sends."""
        # Not that of the processor: it needs a call of the system, at each of which a busy machine lets others run.
        began = time.perf_counter()
        args = read_args(content)
        sent = sent_names(args)
        try:
            outcome, answer, afterwards = self._filtered(args, sent)
        except Exception as error:
            # Of ours, whatever it is: pods are scheduled as without an extender.
            self.counts.last = f"{type(error).__name__}: {error}"
            outcome, answer, afterwards = "failed", sent.all(), _nothing
        self.counts.filtered[outcome] += 1
        self.counts.seconds += time.perf_counter() - began
        return answer, afterwards

    def _filtered(self, args: ExtenderArgs, sent: SentNames) -> tuple[FilterOutcome, bytes, Callable[[], None]]:
        if not self.live.synced.is_set():
            return "not_ready", sent.all(), _nothing
        pod = self._keeper.kept(self._sent_pod.decode(args.pod))
        # Who has its nodes from the placer counts on them already.
        if pod.offered or not self.needs(pod.pod):
            return "not_needed", sent.all(), _nothing
        tried = self.offers.tried(pod.uid)
        self.counts.again += bool(tried)
        placing = self._placing(pod, len(tried), sent)
        if placing.places:
            chosen = self._chosen(placing.places, tried)
            names = [*chosen, *self._unknown(sent)] if self.options.offer is None else chosen
            return "offered", sent.result(names), partial(self._offered, pod, chosen, tried)
        self.live.withdraw(pod.uid)
        self.offers.over(pod.uid)
        unknown = self._unknown(sent)
        if unknown:
            self.refused.over(pod.uid)
            return "unknown", sent.result(unknown), _nothing
        self.refused.refused(pod, self.clock())
        return "refused", sent.result([], refused_texts(placing.refusals)), _nothing

    def _offered(self, pod: ClusterPod, chosen: Sequence[str], tried: Sequence[str]) -> None:
        self.live.offer(pod, chosen)
        self._remember(pod.pod)
        self.offers.made(pod.uid, chosen, tried, self.clock())
        self.refused.over(pod.uid)

    def _unknown(self, sent: SentNames) -> list[str]:
        known = self.live.fleet.nodes
        return [name for name in sent.names if name not in known]

    def _placing(self, pod: ClusterPod, tried: int, among: SentNames) -> Placing:
        most = None if self.options.offer is None else self.options.offer + tried
        return places(self.live.fleet, _wherever(pod.pod), self.live.memory, most, among)

    def _remember(self, pod: Pod) -> None:
        latest, self._latest = self._latest, pod
        self._alike = latest is not None and latest.containers == pod.containers and latest.demands == pod.demands

    def prepare(self) -> None:
        """Called once an answer is on its way. Where two alike came one after the other a third one is expected, and
        what the nodes say to it is found now: its scheduler need not wait for that."""
        if not self._alike or self._latest is None:
            return
        self._alike = False
        try:
            places(self.live.fleet, replace(_wherever(self._latest), uid=""), self.live.memory, self.options.offer)
        except Exception as error:
            # Of ours, too; who is asked about next finds it again.
            self.counts.last = f"{type(error).__name__}: {error}"

    def _chosen(self, found: Sequence[FleetPlace], tried: Sequence[str]) -> list[str]:
        """Nodes that were offered before come last, and of them those first that were offered longest ago: something
        that we do not see was against them."""
        last = {name: index for index, name in enumerate(tried)}
        ordered = sorted((own.node for own in found), key=lambda name: last.get(name, -1))
        return ordered if self.options.offer is None else ordered[: self.options.offer]

    def prioritize(self, content: bytes) -> bytes:
        """By the order of the offer; what was not offered has no score. Raises msgspec.MsgspecError."""
        args = read_args(content)
        names = sent_names(args).names
        offered = self.offers.offered(self._sent_pod.decode(args.pod).metadata.uid)
        ranks = {name: index for index, name in enumerate(offered)}
        worst = max(len(offered) - 1, 1)
        scores = [
            HostPriority(name, 1 + (MOST_SCORE - 1) * (worst - ranks[name]) // worst if name in ranks else 0)
            for name in names
        ]
        self.counts.prioritized += 1
        return msgspec.json.encode(scores)

    def sweep(self) -> None:
        now = self.clock()
        if self.offers.sweep(now):
            self.refused.changed(now)

    def _fits(self, pod: ClusterPod) -> bool:
        return bool(places(self.live.fleet, pod.pod, self.live.memory, 1).places)

    def _heard(self, change: LiveChange) -> None:
        if change.kind == "node":
            self.refused.changed(self.clock())
        elif change.kind in ("gone", "failed") or (change.pod is not None and change.pod.node):
            self.offers.over(change.name)
            self.refused.over(change.name)
            if change.kind != "pod":
                self.refused.changed(self.clock())


def _nothing() -> None:
    """Nothing is to be noted."""


def _wherever(pod: Pod) -> Pod:
    """Labels were looked at by the scheduler: no other nodes are among those that it sends."""
    demands = pod.demands
    if not demands.selector and demands.affinity is None:
        return pod
    return replace(pod, demands=replace(demands, selector=(), affinity=None))
