"""The same nodes in another number: all kinds by the shares that they have now, or those of one kind only."""

from collections.abc import Iterator

from msgspec.structs import replace

from numafit.cluster.plan.planned import PlannedNodes
from numafit.errors import InputError, meant_or_there
from numafit.fleet.what_if.share import dealt

ADDED = "added"


def counts_of(planned: PlannedNodes) -> dict[str, int]:
    """Of each kind."""
    return {group.name: len(names) for group, names in planned.kinds}


def sized(planned: PlannedNodes, total: int, kind: str = "") -> PlannedNodes:
    """With so many nodes in all; with `kind`, so many of that kind and all of the others. A kind of which none is left
    is not there any more."""
    counts = counts_of(planned)
    shares = {kind: total} if kind else zip(counts, dealt(tuple(counts.values()), total), strict=True)
    wanted = {**counts, **dict(shares)}
    taken = {name for _, names in planned.kinds for name in names}
    kinds = []
    for group, names in planned.kinds:
        own = (*names, *_more(group.name, wanted[group.name] - len(names), taken))[: wanted[group.name]]
        if own:
            kinds.append((group, own))
    return replace(planned, kinds=tuple(kinds))


def _more(kind: str, many: int, taken: set[str]) -> Iterator[str]:
    number = 0
    while many > 0:
        name = f"{kind}-{ADDED}-{number}"
        number += 1
        if name not in taken:
            many -= 1
            yield name


def check_kind(planned: PlannedNodes, kind: str, source: str) -> None:
    """Raises InputError where there is no such kind."""
    known = list(counts_of(planned))
    if kind not in known:
        raise InputError(f'no group of nodes is called "{kind[:60]}"', source=source, cure=meant_or_there(kind, known))
