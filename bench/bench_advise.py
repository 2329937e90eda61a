"""Advice for many pods: how it grows with pods and with shapes, and against the way that decides every pod."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from time import process_time
from unittest.mock import patch

from bench import Row
from numafit.advice.propose import course, kubelet
from numafit.advice.propose.advise import advise
from numafit.advice.propose.trial import Trial
from numafit.decision.node import Node
from numafit.decision.simulation import play
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.decision.verdicts import Verdicts
from numafit.ledger.ledger import Ledger
from numafit.machine.catalogue.names import machine_named
from numafit.managers.device.plugin import Plugin
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.settings import ReservedMemory
from numafit.settings.versions import DEFAULT_VERSION
from numafit.workload.pod import Container, Pod

MACHINE = "gpu8-128cpu"
CONFIG = KubeletConfig(
    cpu_manager_policy="static",
    memory_manager_policy="Static",
    reserved_memory=(ReservedMemory(0, {"memory": parse_quantity("1124Mi")}),),
    topology_manager_policy="single-numa-node",
    kube_reserved={"cpu": "2", "memory": "1Gi"},
    eviction_hard={"memory.available": "100Mi"},
    max_pods=2000,
)


def rows() -> Iterator[Row]:
    for pods, shapes in ((10, 1), (10, 10), (100, 1), (100, 10), (1000, 1), (1000, 10), (1000, 50)):
        budget = 5.0 if (pods, shapes) == (1000, 10) else None
        yield Row(f"advise/{pods} pods of {shapes} shapes", _seconds(pods, shapes), budget=budget, measured=True)
    for pods, shapes in ((10, 10), (30, 10)):
        yield Row(
            f"advise/{pods} pods of {shapes} shapes: share of the time of the plain way",
            _share(pods, shapes),
            unit="x",
            measured=True,
        )


def _seconds(pods: int, shapes: int) -> Callable[[], float]:
    return lambda: _taken(_stage(), _pods(pods, shapes))


def _share(pods: int, shapes: int) -> Callable[[], float]:
    """Each pod advised by itself with every pod of every run decided, beside what is done now."""

    def measure() -> float:
        on, played = _stage(), _pods(pods, shapes)
        quick = _taken(on, played)
        started = process_time()
        with (
            patch.object(course, "verdicts", _plain),
            patch.object(kubelet, "verdicts", _plain),
            patch.object(Trial, "_too_many", lambda self, pod: False),
        ):
            for pod in played:
                advise(on, played, only=pod.uid)
        return quick / (process_time() - started)

    return measure


def _taken(on: Stage, played: Sequence[Pod]) -> float:
    started = process_time()
    advise(on, played)
    return process_time() - started


def _plain(
    node: Node,
    ledger: Ledger,
    pods: Sequence[Pod],
    allocatable: Mapping[str, Quantity],
    *,
    asked: Collection[int] = (),
    **_: object,
) -> Verdicts:
    decisions = [step.decision for step in play(node, ledger, pods, allocatable).steps]
    admitted = frozenset(i for i, decision in enumerate(decisions) if decision.admitted)
    return Verdicts(admitted, len(decisions), False, {i: decisions[i] for i in asked})


def _stage() -> Stage:
    machine = machine_named(MACHINE)
    plugins = {device.resource: Plugin() for device in machine.devices}
    return new_stage(Start(version=DEFAULT_VERSION, config=CONFIG, machine=machine, plugins=plugins))


def _pods(number: int, shapes: int) -> list[Pod]:
    return [_pod(i, i % shapes) for i in range(number)]


def _pod(number: int, shape: int) -> Pod:
    """Every third shape is Burstable; of the others some want GPUs, and all want another number of CPUs or bytes."""
    amounts = {"cpu": parse_quantity(str(2 + shape % 13)), "memory": parse_quantity(f"{1 + shape}Gi")}
    if shape % 3 == 1:
        amounts["nvidia.com/gpu"] = parse_quantity(str(1 + shape % 4))
    limits = {} if shape % 3 == 2 else amounts
    return Pod(f"uid-{number}", f"pod-{number}", (Container("app", amounts, limits),))
