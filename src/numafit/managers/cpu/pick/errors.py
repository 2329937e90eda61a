"""Why no CPUs were taken, in the kubelet's words."""

from numafit.errors import KubeletError, KubeletPanic
from numafit.settings.versions import Behaviour

PICK_HANGS = "pick-hangs"


class PickError(KubeletError):
    """The assignment algorithm gives up."""


class PickHangs(KubeletPanic):
    """The kubelet would never come back from this request; the text is numafit's own."""

    def __init__(self, count: int, group: int) -> None:
        super().__init__(
            f"the kubelet hangs: distribute-cpus-across-numa wants {count} CPUs in groups of {group}, "
            "and asks for the last ones, for ever, NUMA nodes that have no whole group left",
            code=PICK_HANGS,
            facts={"cpus": str(count), "group": str(group)},
        )


def not_enough(behaviour: Behaviour, count: int, free: int) -> PickError:
    """`free` is the set as it was given, CPUs that do not exist included."""
    text = "not enough cpus available to satisfy request"
    if behaviour.not_enough_numbers:
        text += f": requested={count}, available={free.bit_count()}"
    return PickError(text)


FAILED = "failed to allocate cpus"
