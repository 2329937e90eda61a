"""Started nodes with a configuration, by hand and at random, for the tests of advice."""

from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.propose.advise import fault_of
from numafit.advice.propose.course import Course
from numafit.advice.propose.trial import Trial
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import Start
from numafit.machine.model import Machine
from numafit.managers.device.plugin import Plugin
from numafit.quantity import parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.settings import ReservedMemory
from numafit.settings.versions import parse_version
from tests.decision.strategies import GI, box, gpus, machines, pods

BOX = box(2, 8, 2, memory=16 * GI, devices=gpus(0, 1))
"""Two NUMA nodes of 4 cores with 2 threads and 16Gi each, and a GPU on each."""

ALL_ON = KubeletConfig(
    cpu_manager_policy="static",
    memory_manager_policy="Static",
    reserved_memory=(ReservedMemory(0, {"memory": parse_quantity("512Mi")}),),
    topology_manager_policy="single-numa-node",
    kube_reserved={"cpu": "1", "memory": "412Mi"},
    eviction_hard={"memory.available": "100Mi"},
)


def stage(machine: Machine = BOX, version: str = "1.36", **changes: object) -> Stage:
    """All managers on, one CPU and 512Mi of node 0 reserved, unless changed."""
    plugins = {device.resource: Plugin() for device in machine.devices}
    config = replace(ALL_ON, **changes)
    return new_stage(Start(version=parse_version(version), config=config, machine=machine, plugins=plugins))


@st.composite
def stages(draw: st.DrawFn) -> Stage:
    machine = draw(machines())
    reserved = (ReservedMemory(machine.numa_nodes[0].id, {"memory": parse_quantity("512Mi")}),)
    return stage(
        machine,
        draw(st.sampled_from(["1.20.1", "1.27.3", "1.32.13", "1.36.4"])),
        reserved_memory=reserved,
        topology_manager_policy=draw(st.sampled_from(["best-effort", "restricted", "single-numa-node"])),
        topology_manager_scope=draw(st.sampled_from(["container", "pod"])),
    )


@st.composite
def faults(draw: st.DrawFn) -> Trial | None:
    """The first pod of a few that is rejected or lies badly; None if all lie well."""
    on = draw(stages())
    played = tuple(draw(pods(f"uid-{i}")) for i in range(draw(st.integers(1, 4))))
    simulation = on.play(played)
    for i in range(len(simulation.steps)):
        found = Trial(Course(on, played, simulation), i, (i,))
        if fault_of(found):
            return found
    return None
