"""How a fleet stands at some moments: what is used and stranded, and which large pods could still come.

Moments are spread evenly over the time from the first arrival to the last, so that a mean over them is one over time: a
burst of arrivals weighs no more than the seconds that it takes.
"""

from collections.abc import Iterator, Sequence

from numafit.fleet.fleet import Fleet
from numafit.fleet.look.usage import NodeUsage, usage_of
from numafit.fleet.simulation.large import LargePod, RoomCounter
from numafit.fleet.simulation.outcome import FleetMoment, LargeLeft, mean_of
from numafit.fleet.simulation.sums import SchedulerView
from numafit.fleet.state import NodeState

MOMENTS = 200


def moments_of(arrivals: Sequence[float]) -> tuple[float, ...]:
    """From the first to the last, both included; one where all come at once."""
    if not arrivals:
        return ()
    first, last = arrivals[0], arrivals[-1]
    step = (last - first) / (MOMENTS - 1)
    return tuple(dict.fromkeys((*(first + step * place for place in range(MOMENTS - 1)), last)))


class FleetLooker:
    """Nodes in the same state are looked at once."""

    def __init__(self, large: Sequence[LargePod], view: SchedulerView) -> None:
        self._view = view
        self._counters = [RoomCounter(own, view) for own in large]
        self._usages: dict[bytes, NodeUsage] = {}
        self.moments: list[FleetMoment] = []

    def look(self, fleet: Fleet, at: float, waiting: int, rejections: int) -> None:
        groups = [(fleet.nodes[names[0]].state, len(names)) for names in fleet.groups.values()]
        # A state that was left is hardly ever come back to.
        self._usages = {state.key: self._usages.get(state.key) or usage_of(state) for state, _ in groups}
        usages = [(self._usages[state.key], many) for state, many in groups]
        used_cpus, used_devices = self._used(groups)
        moment = FleetMoment(
            at=at,
            waiting=waiting,
            rejections=rejections,
            used_cpus=used_cpus,
            used_devices=used_devices,
            stranded_cpus=sum(own.cpus.stranded * many for own, many in usages),
            stranded_memory=sum(own.memory.stranded * many for own, many in usages),
            stranded_gpus=sum(own.gpus.stranded * many for own, many in usages),
            largest=max((own.largest for own, _ in usages), default=0),
            largest_gpus=max((own.largest_gpus for own, _ in usages), default=0),
            large=tuple(counter.count_all(groups) for counter in self._counters),
        )
        self.moments.append(moment)

    def _used(self, groups: Sequence[tuple[NodeState, int]]) -> tuple[float, float]:
        """Of CPUs and of devices the parts that are asked for."""
        used, offered = [0, 0], [0, 0]
        for state, many in groups:
            asked = state.load.amounts
            for name, amount in self._view.offered(state).items():
                # What is counted only, and no device, may be there by the thousand.
                device = name in state.ledger.device.devices
                if name == "cpu" or device:
                    used[device] += asked.get(name, 0) * many
                    offered[device] += amount * many
        cpus, devices = (own / whole if whole else 0.0 for own, whole in zip(used, offered, strict=True))
        return cpus, devices

    def left(self) -> Iterator[LargeLeft]:
        for place, counter in enumerate(self._counters):
            found = [own.large[place] for own in self.moments]
            none = mean_of([float(not count) for count in found])
            yield LargeLeft(counter.large.asks, mean_of(found), min(found, default=0), none)
