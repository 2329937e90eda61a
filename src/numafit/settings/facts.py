"""What a node is told to be and no machine shows: its labels and taints, its disk, resources that others list for it.

The Node object tells it, or somebody who knows. What nobody told is not known, and nothing is guessed.
"""

from collections.abc import Mapping
from typing import NamedTuple

import msgspec

from numafit.quantity import Quantity


class Taint(NamedTuple):
    key: str
    value: str
    effect: str


class NodeFacts(msgspec.Struct, frozen=True):
    name: str = ""
    """Of the node; empty where nobody told it."""
    labels: Mapping[str, str] | None = None
    """None: nobody told them."""
    taints: tuple[Taint, ...] = ()
    """As far as somebody told them."""
    group_policies: bool | None = None
    """The runtime knows `supplementalGroupsPolicy`; None where nobody told it."""
    offers: Mapping[str, Quantity] = {}
    """What the node has for pods beside CPUs, memory, huge pages and a number of pods."""


NO_FACTS = NodeFacts()


def is_machine_resource(name: str) -> bool:
    """Machine and configuration tell how much of it there is."""
    return name in ("cpu", "memory", "pods") or name.startswith("hugepages-")


def is_offer(name: str) -> bool:
    """A container can ask for it, and neither machine nor configuration tell how much there is."""
    return not is_machine_resource(name) and not name.startswith(("attachable-volumes-", "requests."))
