"""A demonstration: pods come and go on a machine of the catalogue, each decided by the engine. No real node is touched.

What comes next is drawn by a seeded generator, so a seed plays the same life again.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from random import Random

from msgspec.structs import replace

from numafit.decision.life import reconcile, release, start_containers
from numafit.decision.story.story import story_of
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Machine
from numafit.quantity import Quantity
from numafit.service.node import Change, Happening, ShownNode
from numafit.settings.example import example_kubelet
from numafit.settings.versions import DEFAULT_VERSION
from numafit.show.records.ledger import Known
from numafit.show.records.time import now_text
from numafit.workload.manifest import made_up_uid
from numafit.workload.pod import Container, Pod

DEFAULT_MACHINE = "gpu8-128cpu"
NAMESPACE = "demo"
FIRST_EVENTS = 14
"""Played at once, so that the first picture shows something."""
SHORTEST, LONGEST = 1.0, 4.0
"""Seconds between two events."""
MOST_PODS = 14
MIB = 1 << 20


class PodShape:
    """A kind of pod: what it asks for of everything that one NUMA node has."""

    def __init__(self, name: str, *, cpus: float, memory: float, gpus: int = 0, exclusive: bool = True) -> None:
        self.name = name
        self.cpus = cpus
        self.memory = memory
        self.gpus = gpus
        self.exclusive = exclusive


SHAPES = (
    PodShape("web", cpus=0.06, memory=0.02, exclusive=False),
    PodShape("api", cpus=0.06, memory=0.04),
    PodShape("database", cpus=0.13, memory=0.2),
    PodShape("batch", cpus=0.25, memory=0.15),
    PodShape("solver", cpus=0.55, memory=0.4),
    PodShape("notebook", cpus=0.13, memory=0.05, gpus=1, exclusive=False),
    PodShape("infer", cpus=0.13, memory=0.1, gpus=1),
    PodShape("tune", cpus=0.25, memory=0.2, gpus=2),
    PodShape("train", cpus=0.6, memory=0.4, gpus=4),
)


class Demo:
    def __init__(self, name: str = DEFAULT_MACHINE, seed: int = 1) -> None:
        machine = machine_named(name)
        self.leases = None
        self.meter = None
        self.place = ShownNode(machine, name, "demo", example_kubelet(machine), str(DEFAULT_VERSION))
        self.stage = self.place.stage()
        self.random = Random(seed)
        self.known: dict[str, Known] = {}
        self.numbers: dict[str, int] = {}
        self.resource = next((device.resource for device in machine.devices if device.kind == "gpu"), "")
        self.shapes = [shape for shape in SHAPES if self.resource or not shape.gpus]

    async def changes(self) -> AsyncIterator[Change]:
        for _ in range(FIRST_EVENTS):
            for change in self.events():
                yield change
        while True:
            await asyncio.sleep(self.random.uniform(SHORTEST, LONGEST))
            for change in self.events():
                yield change

    def events(self) -> Iterator[Change]:
        """What happens next: the fuller the node, the likelier somebody goes."""
        active = list(self.stage.ledger.active.values())
        if active and self.random.random() < len(active) / MOST_PODS:
            yield self._removed(self.random.choice(active))
        else:
            yield self._added(self._pod(self.random.choice(self.shapes)))

    def _added(self, pod: Pod) -> Change:
        stage = self.stage
        simulation = stage.play([pod])
        decision = simulation.steps[0].decision
        ledger = decision.ledger
        name = pod.full_name
        if decision.admitted:
            ledger = start_containers(stage.node, ledger, pod.uid)[0]
        self.stage = replace(stage, ledger=ledger)
        self._remember({**self.known, pod.uid: Known(name, now_text())})
        sentence = story_of(stage.node, decision).sentence
        happened = Happening("pod", name, sentence, decision, pod.uid, notes=stage.notes_on(simulation))
        return Change(self.stage, self.known, happened)

    def _removed(self, pod: Pod) -> Change:
        stage = self.stage
        self.stage = replace(stage, ledger=reconcile(stage.node, release(stage.ledger, pod.uid)))
        self._remember(self.known)
        name = pod.full_name
        return Change(self.stage, self.known, Happening("release", name, f"{name} has ended.", uid=pod.uid))

    def _remember(self, known: dict[str, Known]) -> None:
        """Only those that still hold something, or run."""
        ledger = self.stage.ledger
        alive = {*ledger.active, *ledger.cpu.entries, *ledger.memory.entries, *ledger.device.held}
        self.known = {uid: one for uid, one in known.items() if uid in alive}

    def _pod(self, shape: PodShape) -> Pod:
        number = self.numbers[shape.name] = self.numbers.get(shape.name, 0) + 1
        name = f"{shape.name}-{number}"
        cpus, memory = _largest_node(self.place.machine)
        wanted = {
            "cpu": Quantity(max(1, round(cpus * shape.cpus * self.random.uniform(0.6, 1.2)))),
            "memory": Quantity(max(64, round(memory * shape.memory / MIB)) * MIB, 0, "BinarySI"),
        }
        if shape.gpus:
            wanted[self.resource] = Quantity(shape.gpus)
        # Requests below the limits make a Burstable pod, which runs in the shared pool.
        requests = wanted if shape.exclusive else wanted | {"cpu": Quantity(1)}
        limits = wanted if shape.exclusive else wanted | {"cpu": Quantity(2)}
        container = Container(shape.name, requests, limits)
        return Pod(made_up_uid(NAMESPACE, name), name, (container,), namespace=NAMESPACE)


def _largest_node(machine: Machine) -> tuple[int, int]:
    """CPUs and bytes of the NUMA node that has most of them."""
    cpus = {numa.id: sum(cpu.numa == numa.id for cpu in machine.cpus) for numa in machine.numa_nodes}
    return max(cpus.values()), max(numa.memory for numa in machine.numa_nodes if cpus[numa.id])
