"""The result of the simulation, for the same seconds."""

from msgspec.structs import replace

from numafit.fleet.simulation.controllers import CONTROLLERS
from numafit.fleet.simulation.loops import unplayed
from numafit.fleet.simulation.rules import PlacingRule, StockScheduler
from numafit.fleet.simulation.run import fleet_of, play_rule
from numafit.fleet.simulation.saved import SavedRun
from numafit.fleet.simulation.trace import TracePod
from numafit.fleet.verdicts import VerdictMemory
from numafit.workload.pod import Container, Pod
from tests.kube.trace_played.result import PlayedResult
from tests.kube.trace_played.slice import TraceSlice


def modelled(own: TraceSlice, rule: PlacingRule, end: float, seed: int = 0) -> PlayedResult:
    """Until `end`, in seconds. A run tells where pods are only when it is stopped, and comes to a moment only with a
    pod that arrives then: so two more come, of which nobody takes notice."""
    late = Pod("late", "late", (Container("main"),))
    more = (TracePod(end, None, late, "Pod"), TracePod(end, None, replace(late, uid="later"), "Pod"))
    arrived = 0

    def count(pods: int) -> None:
        nonlocal arrived
        arrived += pods

    last = len(own.pods) + 1
    memory, stock = VerdictMemory(), StockScheduler(seed=seed)
    pods = (*own.pods, *more)
    run = play_rule(fleet_of(own.states), pods, rule, memory, (), count, stock, lambda: arrived == last)
    assert isinstance(run, SavedRun)
    names = [pod.pod.name for pod in own.pods]
    ends = {index: run.began.get(index, run.gave_up.get(index, end)) for index in range(len(names))}
    rejections = dict(run.times_rejected)
    for saved in run.loops:
        for index, since in saved.loop.pods:
            owner = own.pods[index].owner
            rejections[index] += unplayed(since, run.paces[owner].until(end), CONTROLLERS[owner].first)
    return PlayedResult(
        {names[event.pod]: event.node for event in run.happened if not event.ends and event.pod < len(names)},
        {name: ends[index] - own.pods[index].arrival for index, name in enumerate(names)},
        {names[index]: many for index, many in rejections.items()},
    )
