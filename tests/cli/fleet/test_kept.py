"""What is kept of plays that were stopped: for what it is good."""

import tracemalloc

from msgspec.structs import replace

from numafit.cli.fleet.kept import input_digest
from numafit.cli.fleet.plays import Playing
from numafit.fleet.simulation.rules import STOCK
from numafit.fleet.simulation.trace import read_trace
from tests.cluster.plan.fleets import planned


def playing(pods: int) -> Playing:
    rows = "".join(f"{number},5,{1 + number % 5},1Gi\n" for number in range(pods))
    return Playing(planned(), read_trace(f"arrival,run,cpu,memory\n{rows}", "t").pods, (), STOCK)


def test_it_is_good_for_the_same_pods_nodes_and_options_only() -> None:
    own = playing(3)
    others = (
        replace(own, pods=own.pods[:2]),
        replace(own, pods=own.pods[::-1]),
        replace(own, limit=5.0),
        replace(own, nodes=planned(counts=(3,))),
    )
    digests = {input_digest(each) for each in (own, *others)} | {input_digest(own, "more")}
    assert len(digests) == 6
    assert input_digest(playing(3)) == input_digest(own)


def test_many_pods_are_looked_at_one_by_one() -> None:
    """As one text 5,000 of them would be some megabytes."""
    own = playing(5000)
    tracemalloc.start()
    try:
        input_digest(own)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 200_000
