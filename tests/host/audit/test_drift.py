"""Memory that moves away as time goes by."""

from numafit.host.audit.drift import MemorySample, audit_drift, memory_sample
from numafit.host.audit.promise import Promise
from numafit.host.process.numa_maps import Pages
from numafit.host.process.observation import Observation
from numafit.machine.model import Cpu, Machine, NumaNode

MIB = 1 << 20
JOB = Promise("job", (7,), cpus=1, mems=1, exclusive=True)
MACHINE = Machine(cpus=(Cpu(id=0, core=0, socket=0, numa=0),), numa_nodes=(NumaNode(0, 1 << 30), NumaNode(1, 1 << 30)))


def codes(*samples: tuple[float, int, int]) -> list[str]:
    return [found.code for found in audit_drift(JOB, [MemorySample(*sample) for sample in samples])]


def test_memory_that_goes_elsewhere_is_told_with_numbers() -> None:
    """Against the best that was seen, not only against the look before."""
    samples = [(0.0, 10 * MIB, 100 * MIB), (60.0, 2 * MIB, 100 * MIB), (120.0, 12 * MIB, 100 * MIB)]
    samples += [(240.0, 40 * MIB, 160 * MIB)]
    (found,) = audit_drift(JOB, [MemorySample(*sample) for sample in samples])
    assert (found.code, found.others) == ("NA017", (7,))
    assert found.sentence == "outside of NUMA node 0 lay 2% (2Mi) of its memory, and 3 min later 25% (40Mi)"


def test_little_and_steady_is_no_drift() -> None:
    """16 MiB and a twentieth more, both are needed; memory that was always there is another finding."""
    assert codes((0.0, 0, 100 * MIB), (1.0, 16 * MIB - 1, 100 * MIB)) == []
    assert codes((0.0, 0, 1000 * MIB), (1.0, 49 * MIB, 1000 * MIB)) == []
    assert codes((0.0, 90 * MIB, 100 * MIB), (1.0, 90 * MIB, 100 * MIB)) == []
    assert codes((0.0, 0, 100 * MIB), (1.0, 16 * MIB, 100 * MIB)) == ["NA017"]
    assert codes((0.0, 90 * MIB, 100 * MIB)) == []


def test_a_sample_leaves_out_what_was_interleaved_on_purpose() -> None:
    """And is none where pages may not be seen, or no node was promised."""
    pages = Pages({0: 30 * MIB, 1: 20 * MIB}, interleaved={0: 15 * MIB, 1: 15 * MIB})
    process = Observation(7, "x", pages=pages)
    assert memory_sample(MACHINE, JOB, [process, process], 1.0) == MemorySample(1.0, 10 * MIB, 100 * MIB)
    assert memory_sample(MACHINE, JOB, [process, Observation(8, "y")], 1.0) is None
    assert memory_sample(MACHINE, Promise("job", (7,)), [process], 1.0) is None
