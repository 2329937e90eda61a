"""The guard beside the placer: in the same process, with its fleet, its leader and its webhook."""

from collections.abc import Callable

from numafit.cluster.admission.options import (
    LIMITED,
    NOT_BOUND,
    NOT_OF_DAEMON,
    OWNED,
    PLACE_CONDITIONS,
    MatchCondition,
)
from numafit.cluster.admission.review import AdmittedPod
from numafit.cluster.guard.counts import GuardCounts
from numafit.cluster.guard.guard import GuardOptions, LoopGuard
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.live.fleet import LiveFleet
from numafit.cluster.live.words import HOLD_GATE
from numafit.cluster.place.process import BesideLeader, LeaderWork

EITHER = MatchCondition("has-limits-or-a-controller", f"({LIMITED.expression}) || ({OWNED.expression})")


def beside_conditions(*, enforce: bool) -> tuple[MatchCondition, ...]:
    """About which pods the API server asks where both run."""
    return (NOT_BOUND, NOT_OF_DAEMON, EITHER) if enforce else PLACE_CONDITIONS


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

        return LeaderWork(run, guard.memory.watch, wish) if options.enforce else LeaderWork(run)

    return made
