"""The guard beside the placer: in the same process, with its fleet, its leader and its webhook."""

from collections.abc import Callable

from numafit.cluster.admission.options import GUARD_CONDITIONS, OtherQuestion
from numafit.cluster.admission.review import AdmittedPod
from numafit.cluster.guard.counts import GuardCounts
from numafit.cluster.guard.guard import GuardOptions, LoopGuard
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.words import GUARD_LABEL, HOLD_GATE
from numafit.cluster.place.process import BesideLeader, LeaderWork

HOLD_PATH = "/hold"


def hold_questions(*, enforce: bool, opt_in: bool) -> tuple[OtherQuestion, ...]:
    """At a path of its own: loops are held in namespaces that are guarded, whether or not pods are placed there."""
    return (OtherQuestion(HOLD_PATH, GUARD_LABEL, opt_in, GUARD_CONDITIONS),) if enforce else ()


def guard_beside(options: GuardOptions, counts: GuardCounts, say: Callable[[str], None]) -> BesideLeader:
    """What `serve_place` makes of it once it has a cluster."""

    def made(api: KubeApi, health: ApiHealth, live: LiveFleet) -> LeaderWork:
        guard = LoopGuard(api, health, live, options, say, counts)

        async def run() -> None:
            counts.leads = True
            try:
                await guard.run()
            finally:
                counts.leads = False

        def wish(pod: AdmittedPod) -> tuple[str, ...]:
            owner = pod.owner
            return (HOLD_GATE,) if owner is not None and guard.holds(owner.uid, owner.kind) else ()

        if not options.enforce:
            return LeaderWork(run)
        return LeaderWork(run, guard.memory.watch, {HOLD_PATH: (wish,)}, guard.open_all)

    return made
