"""The kubelet that stands in where none is known."""

from numafit.bits import cpuset_text
from numafit.decision.start import Start, start
from numafit.machine.catalogue.names import machine_named
from numafit.settings.example import example_kubelet
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import DEFAULT_VERSION


def reserved(text: str) -> str:
    sources = ConfigSources(ConfigFile("example", text))
    machine = machine_named("dgx-h100")
    return cpuset_text(start(Start(version=DEFAULT_VERSION, machine=machine, sources=sources)).node.cpu.reserved)


def test_the_example_keeps_back_what_the_host_keeps_back() -> None:
    """Where a host keeps back nothing, one CPU: a static policy starts only with some."""
    machine = machine_named("dgx-h100")
    assert reserved(example_kubelet(machine, 0b1100)) == "2-3"
    assert reserved(example_kubelet(machine)) == "0"
