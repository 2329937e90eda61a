"""The words for what a manager refuses, and for a crash: which container, which rule, what would have been enough."""

from numafit.decision.decision import Crash, ManagerRefused
from numafit.decision.story.terms import (
    amount_in_words,
    container_in_words,
    listed,
    needs_in_words,
    nodes_in_words,
    upper,
)
from numafit.managers.cpu.pick.errors import PICK_HANGS
from numafit.managers.device.manager import DEVICE_VANISHED
from numafit.managers.memory.manager import NO_PLAIN_MEMORY
from numafit.managers.memory.nodes import PAGE_SIZE_MISSING
from numafit.managers.refused import (
    AllocationRefused,
    BudgetUsedUp,
    CpusNotPicked,
    CpusShort,
    DeviceCountChanged,
    DevicesNotPicked,
    DevicesShort,
    HeldDevicesUnhealthy,
    MemoryNotPreferred,
    MemoryRefused,
    NoHealthyDevices,
    NoMemoryPlace,
    NoMemoryRequest,
    NoPlugin,
    NotInt64,
    NoWiderMemory,
    OddCpus,
    PluginFailed,
    WholeCoresShort,
)
from numafit.managers.topology.hint_order import DISTANCES_SHORT


def refused_in_words(refused: ManagerRefused, who: str = "") -> str:
    """`who` asked, where its reader does not know which container that was."""
    who = who or container_in_words(refused.container)
    cause = refused.cause
    if isinstance(cause, OddCpus | WholeCoresShort | CpusShort | CpusNotPicked):
        return upper(f"{who} {_cpus(cause)}.")
    if isinstance(cause, MemoryRefused):
        return upper(f"{who} {_memory(cause)}.")
    if isinstance(cause, BudgetUsedUp):
        return (
            f"Containers with requests of their own take {amount_in_words(cause.resource, cause.used)} of the pod's "
            f"{amount_in_words(cause.resource, cause.budget)}, and nothing is left to the others."
        )
    return upper(f"{who} {_devices(cause)}.")


def _cpus(cause: OddCpus | WholeCoresShort | CpusShort | CpusNotPicked) -> str:
    asks = f"asks for {amount_in_words('cpu', cause.cpus)}"
    if isinstance(cause, OddCpus):
        below = cause.cpus - cause.cpus % cause.threads
        enough = listed([str(number) for number in (below, below + cause.threads) if number], "or")
        return f"{asks}, and `full-pcpus-only` gives whole cores of {cause.threads} threads only: {enough} would do"
    if isinstance(cause, WholeCoresShort):
        return (
            f"{asks}, and with `full-pcpus-only` {_count_is(cause.free)} free: only cores without a reserved CPU count"
        )
    if isinstance(cause, CpusShort):
        return f"{asks} of its own, and {_count_is(cause.free)} free"
    return f"{asks} of its own, and the kubelet cannot pick them although {_count_is(cause.free)} free"


def _count_is(number: int) -> str:
    return "none is" if not number else "1 is" if number == 1 else f"{number} are"


def _memory(cause: MemoryRefused) -> str:
    if isinstance(cause, NotInt64):
        return (
            "asks for an amount of memory that the kubelet cannot read as a whole number of bytes "
            "(`1536Mi` would do where `1.5Gi` does not)"
        )
    asks = f"asks for {needs_in_words(cause.needs)}"
    if isinstance(cause, NoMemoryRequest):
        asks = f"{asks} and for no memory" if cause.needs else "asks for no memory of its own"
        return f"{asks}, and the memory manager finds no NUMA node for it"
    if isinstance(cause, NoMemoryPlace):
        return f"{asks}, and no set of NUMA nodes that may be used together has that free"
    if isinstance(cause, MemoryNotPreferred):
        where = (
            f"{nodes_in_words(cause.nodes)} cannot give it" if cause.nodes else "no place that would do is preferred"
        )
        return f"{asks}; the merge promised a preferred place, {where}, and wider ones are not preferred"
    if isinstance(cause, NoWiderMemory):
        return (
            f"{asks}; {nodes_in_words(cause.nodes)}, where it was to go, "
            f"{'has' if cause.nodes.bit_count() == 1 else 'have'} too little free, and no wider set that the kubelet "
            "looks at may be used"
        )
    return (
        f"{asks} across {nodes_in_words(cause.nodes)}, and on one of them memory is held by a container that does not "
        "sit across just these"
    )


def _devices(cause: AllocationRefused) -> str:
    if isinstance(cause, DeviceCountChanged):
        return f"asks for {cause.asked} {cause.resource} and holds {cause.held} from before the restart"
    if isinstance(cause, NoPlugin):
        return f"asks for {cause.resource}, and its device plugin is not there"
    if isinstance(cause, NoHealthyDevices):
        return f"asks for {cause.resource}, and no such device is healthy"
    if isinstance(cause, HeldDevicesUnhealthy):
        return f"holds {listed(cause.devices, 'and')} of {cause.resource}, no longer healthy"
    if isinstance(cause, DevicesShort):
        return f"asks for {cause.asked} {cause.resource}, and {_count_is(cause.free)} free"
    if isinstance(cause, PluginFailed):
        return f"gets no {cause.resource}, since the device plugin fails: {cause.says}"
    assert isinstance(cause, DevicesNotPicked)
    return f"asks for {cause.asked} {cause.resource}, and the kubelet ends up with fewer although enough are free"


def crash_in_words(crash: Crash) -> str:
    """A sentence; `blame_in_words` is the part that may stand in another one."""
    verb = "hang" if crash.code == PICK_HANGS else "crash"
    return f"The kubelet would {verb} here: {blame_in_words(crash)}."


def blame_in_words(crash: Crash) -> str:
    """Which page size, device or option is to blame, without a full stop."""
    who, facts = container_in_words(crash.container), crash.facts
    if crash.code == PAGE_SIZE_MISSING:
        return f"{who} asks for {facts['resource']}, and a NUMA node of this machine does not have that page size"
    if crash.code == NO_PLAIN_MEMORY:
        return f"{who} asks for huge pages and not for memory, and has no merged hint to put them by"
    if crash.code == DEVICE_VANISHED:
        return f"{facts['device']} of {facts['resource']} is held, and its plugin no longer lists it"
    if crash.code == DISTANCES_SHORT:
        return (
            f"prefer-closest-numa-nodes looks up the distance from NUMA node {facts['numa']} to node "
            f"{facts['beyond']}, and the machine lists none: its NUMA ids have gaps"
        )
    if crash.code == PICK_HANGS:
        return (
            f"distribute-cpus-across-numa wants {facts['cpus']} CPUs for {who} in groups of {facts['group']}, and asks "
            "for the last ones, for ever, NUMA nodes that have no whole group left"
        )
    return f"it panics on {who}"
