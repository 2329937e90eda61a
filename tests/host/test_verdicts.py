"""How leases lie."""

from msgspec.structs import replace

from numafit.bits import parse_cpuset
from numafit.host.host import Host
from numafit.host.lease import Lease
from numafit.host.verdicts import lease_alignments
from numafit.ledger.ledger import Block
from numafit.machine.model import NumaNode
from tests.host.ledgers import host_named

HOST = host_named("gpu8-128cpu")
TRAIN = Lease("a", "train", 0, "ann", 0.0, exclusive=parse_cpuset("0-3"), memory=(Block((0,), "memory", 1 << 30),))
GPU = "nvidia.com/gpu"


def words(host: Host, *leases: Lease) -> dict[str, str]:
    return {name: found.lying for name, found in lease_alignments(host, leases).items()}


def test_each_lease_has_a_word() -> None:
    """GPU4 hangs on NUMA node 1; what this process may not use is nobody's lease."""
    host = replace(HOST, allowed_cpus=parse_cpuset("0-31"))
    leases = (
        TRAIN,
        replace(TRAIN, id="b", exclusive=parse_cpuset("4-7"), devices={GPU: ("GPU4",)}),
        replace(TRAIN, id="c", exclusive=parse_cpuset("8-9,40-41"), memory=()),
        Lease("d", "", 0, "bob", 0.0, nodes=0b1, bound=parse_cpuset("10-31")),
    )
    assert words(host, *leases) == {"a": "aligned", "b": "remote GPU", "c": "split", "d": "shared"}


def test_what_is_kept_back_is_no_room() -> None:
    """60 CPUs fit on one NUMA node of 64 CPUs, unless 8 of each are reserved."""
    large = replace(TRAIN, exclusive=parse_cpuset("8-31,40-63,72-77,104-109"), memory=())
    assert words(HOST, large) == {"a": "split"}
    kept = replace(HOST, reserved_cpus=parse_cpuset("0-7,32-39"))
    assert words(kept, large) == {"a": "aligned"}


def test_a_machine_that_cannot_be_placed_on_is_not_judged() -> None:
    """Beyond the masks of the managers, `ps` still lists the leases."""
    far = replace(HOST.machine, numa_nodes=(*HOST.machine.numa_nodes, NumaNode(64, 1 << 30)))
    assert words(replace(HOST, machine=far), TRAIN) == {}
