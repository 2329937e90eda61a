"""How busy a machine was: lines of equal length, and why there are none."""

from numafit.host.gpu.busy import GpuBusy
from numafit.host.meter import HugepagesUse, MachineUse, MemoryUse
from numafit.machine.model import Cpu, Machine
from numafit.service.recent import MOST_USES, NOT_HERE, USE_SECONDS, WAITING, LastMinutes
from numafit.show.records.use import DeviceUse, HugepagesUsed, NodeUse, UseAnswer

MACHINE = Machine(cpus=tuple(Cpu(id, id, 0, id // 2) for id in range(4)))
MEMORY = MemoryUse(1000, 300, 200, {1 << 21: HugepagesUse(100, 60)})


def test_lines_have_a_value_for_each_reading() -> None:
    """Null where one reading knows less; CPUs that the machine does not have are left out."""
    recent = LastMinutes(MACHINE)
    recent.add(MachineUse(), "before")
    recent.add(MachineUse({0: 0.5, 1: 0.25, 9: 1.0}), "a")
    recent.add(MachineUse({0: 0.1, 1: 0.0, 2: 1.0, 3: 1.0}, {0: MEMORY}, {"GPU-0": GpuBusy(0.5, 7, 9)}), "b")
    assert recent.answer() == UseAnswer(
        True,
        "",
        USE_SECONDS,
        ("a", "b"),
        {0: 0.1, 1: 0.0, 2: 1.0, 3: 1.0},
        (
            NodeUse(
                0,
                (0.75, 0.1),
                (None, 400),
                (None, 200),
                (None, 300),
                *(1000, 400, 200, 300),
                {"2Mi": HugepagesUsed(100, 60, (None, 40))},
            ),
            NodeUse(1, (None, 2.0), (None, None), (None, None), (None, None), 0, 0, 0, 0, {}),
        ),
        (DeviceUse("GPU-0", (None, 0.5), (None, 7), 9),),
    )


def test_ten_minutes_are_kept() -> None:
    recent = LastMinutes(MACHINE)
    for number in range(MOST_USES + 3):
        recent.add(MachineUse({0: 0.5}), str(number))
    assert recent.answer().times == tuple(str(number) for number in range(3, MOST_USES + 3))
    assert MOST_USES * USE_SECONDS == 600


def test_what_is_not_known_says_why() -> None:
    assert LastMinutes(MACHINE, NOT_HERE["demo"]).answer().why == "This is a simulation: nothing runs on it."
    assert LastMinutes(MACHINE).answer().why == WAITING
