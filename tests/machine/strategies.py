"""Random machines with every field in use."""

from hypothesis import strategies as st

from numafit.bits import mask_of
from numafit.machine.model import Cache, Cpu, Device, Link, Machine, NumaNode

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=12)
AMOUNT = st.one_of(st.integers(0, 5), st.integers(0, 64).map(lambda n: n << 30), st.integers(0, (1 << 62)))
MAYBE_SMALL = st.none() | st.integers(0, 3)


@st.composite
def _cpus(draw: st.DrawFn, nodes: list[int]) -> list[Cpu]:
    ids = draw(st.lists(st.integers(0, 40), unique=True, max_size=16))
    return [
        Cpu(
            id=id,
            core=draw(st.integers(-1, 5)),
            socket=draw(st.integers(-1, 2)),
            numa=draw(st.sampled_from([-1, *nodes])),
            uncore_cache=draw(MAYBE_SMALL),
            online=draw(st.booleans()),
            kind=draw(st.sampled_from(["", "performance", "efficiency"])),
            die=draw(MAYBE_SMALL),
            isolated=draw(st.booleans()),
        )
        for id in ids
    ]


def _numa_node(id: int, count: int) -> st.SearchStrategy[NumaNode]:
    return st.builds(
        NumaNode,
        id=st.just(id),
        memory=AMOUNT,
        hugepages=st.dictionaries(st.sampled_from([4096, 2 << 20, 1 << 30, 1000]), st.integers(0, 9), max_size=3),
        distances=st.none() | st.lists(st.integers(0, 255), min_size=count, max_size=count).map(tuple),
        device=TEXT,
    )


DEVICES = st.builds(
    Device,
    resource=st.sampled_from(["", "nvidia.com/gpu"]),
    id=TEXT,
    numa=st.none() | st.lists(st.integers(0, 9), max_size=2).map(tuple),
    healthy=st.booleans(),
    kind=st.sampled_from(["", "gpu", "nic"]),
    name=TEXT,
    label=st.sampled_from(["", "GPU0", "GPU1", "NIC0", "y", "0"]),
    bus=st.sampled_from(["", "0000:3b:00.0"]),
    pci_class=st.none() | st.integers(0, (1 << 24) - 1),
    switch=TEXT,
    root_port=TEXT,
    memory=AMOUNT,
    parent=TEXT,
    cpus=st.integers(0, 1 << 20),
    driver_numa=MAYBE_SMALL,
)
CACHES = st.builds(
    Cache,
    level=st.integers(1, 4),
    kind=st.sampled_from(["data", "instruction", "unified"]),
    size=AMOUNT,
    cpus=st.lists(st.integers(0, 20), max_size=4).map(mask_of),
    id=MAYBE_SMALL,
)


@st.composite
def any_machines(draw: st.DrawFn) -> Machine:
    """Whatever a reader might give: ids with gaps, any order of CPUs, fields known or not."""
    ids = draw(st.lists(st.integers(0, 40), unique=True, max_size=4))
    devices = draw(st.lists(DEVICES, unique_by=lambda device: device.id, max_size=4))
    pairs = [(a.id, b.id) for i, a in enumerate(devices) for b in devices[i + 1 :]]
    linked = pairs if draw(st.booleans()) or not pairs else draw(st.lists(st.sampled_from(pairs), unique=True))
    return Machine(
        cpus=tuple(draw(_cpus(ids))),
        numa_nodes=tuple(draw(_numa_node(id, len(ids))) for id in ids),
        devices=tuple(devices),
        links=tuple(Link(a, b, draw(TEXT)) for a, b in linked),
        memory=draw(st.none() | AMOUNT),
        sockets=draw(MAYBE_SMALL),
        name=draw(TEXT),
        caches=tuple(draw(st.lists(CACHES, max_size=5))),
        model=draw(TEXT),
        assumed=draw(st.sampled_from([(), ("core",), ("core", "socket")])),
    )
