"""An object whose digests hold and whose contents make no sense is refused with the field that is to blame."""

from typing import Any

import pytest
from msgspec.structs import replace

from numafit.cluster.topology.restore import stage_of
from numafit.cluster.topology.write import topology_of
from numafit.errors import InputError
from tests.cluster.topology.nodes import guaranteed, stage_on, with_pods_on

TOPOLOGY = topology_of("n1", with_pods_on(stage_on("dgx-h100"), guaranteed("a", 4)))
(HOLDER,) = TOPOLOGY.status.holders
(MAIN,) = HOLDER.containers


def held(**changes: Any) -> Any:
    """The one holder, with another container."""
    return (replace(HOLDER, containers=(replace(MAIN, **changes),)),)


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("shared_pool", "0-900", "the machine has no CPU 224-900"),
        ("holders", held(cpus="500"), "the machine has no CPU 500"),
        ("memory", (), "it does not tell of the NUMA nodes and the types of memory that the machine has"),
        ("holders", held(memory=(replace((MAIN.memory or ())[0], numa="9"),)), "is held on NUMA nodes that have none"),
        ("holders", held(memory=(replace((MAIN.memory or ())[0], type="x"),)), "is held on NUMA nodes that have none"),
    ],
)
def test_what_the_machine_does_not_have_is_not_held(field: str, value: Any, message: str) -> None:
    with pytest.raises(InputError, match=message) as refused:
        stage_of(replace(TOPOLOGY, status=replace(TOPOLOGY.status, **{field: value})))
    assert refused.value.field == {"shared_pool": "status.sharedPool"}.get(field, f"status.{field}")
