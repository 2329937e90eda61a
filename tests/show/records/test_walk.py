"""How a merge walked, written out."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.decision.decision import MergeStep
from numafit.ledger.ledger import Ledger
from numafit.managers.topology.merge import merge
from numafit.settings.versions import behaviour_of, parse_version
from numafit.show.records.walk import MOST_LOSERS, MOST_WALKED, Walk, walk_of

GROUND = 0b111
HINTS = st.lists(st.tuples(st.integers(1, GROUND), st.booleans()), max_size=4, unique_by=lambda hint: hint[0])
RELEASES = st.sampled_from(["1.21", "1.23", "1.24", "1.36.4"])
POLICIES = st.sampled_from(["best-effort", "restricted", "single-numa-node"])


def walked(policy: str, lists: dict[str, list[tuple[int, bool]]], ground: int, release: str = "1.36.4") -> Walk:
    behaviour = behaviour_of(parse_version(release))
    providers = ({name: tuple(hints) for name, hints in lists.items()},)
    merged = merge(policy, providers, ground, behaviour=behaviour)
    step = MergeStep("", providers, merged.best, merged.admit, Ledger())
    return walk_of(step, policy, ground, equal_masks=behaviour.merge_equal_masks)


@given(POLICIES, RELEASES, st.dictionaries(st.sampled_from(["cpu", "memory", "gpu"]), HINTS, min_size=1))
def test_the_best_of_the_walk_is_what_the_engine_merged(
    policy: str, release: str, lists: dict[str, list[tuple[int, bool]]]
) -> None:
    """The combinations are the kubelet's own, so the answer of the engine is one of them, or there is none. It comes
    first and once; no result comes twice, and nothing in common is shown only where nothing else is there."""
    walk = walked(policy, lists, GROUND, release)
    behaviour = behaviour_of(parse_version(release))
    merged = merge(policy, ({name: tuple(own) for name, own in lists.items()},), GROUND, behaviour=behaviour)
    assert walk.combinations is not None
    assert walk.walked == walk.combinations
    results = [(one.nodes, one.preferred) for one in walk.shown]
    assert len(set(results)) == len(results) <= MOST_LOSERS + 1
    assert [one.best for one in walk.shown[1:]] == [False] * len(walk.shown[1:])
    if merged.best[1] or (policy != "single-numa-node" and any(nodes for nodes, _ in results)):
        assert walk.shown[0].best
    if any(not nodes for nodes, _ in results):
        assert len(results) == 1
        assert walk.apart == walk.combinations
    for one in walk.shown:
        assert (one.lost == "") == one.best
        assert (one.lost == "nothing-in-common") == (not one.nodes)


def test_single_numa_node_drops_wide_hints_first() -> None:
    """What is dropped is counted; one row of nothing in common says it all."""
    walk = walked("single-numa-node", {"cpu": [(0b01, True), (0b11, False)], "gpu": [(0b10, True)]}, 0b11)
    assert (walk.combinations, walk.filtered, walk.apart) == (1, 1, 1)
    assert [(one.nodes, one.preferred, one.best, one.lost) for one in walk.shown] == [
        ((), False, False, "nothing-in-common")
    ]


def test_losers_come_by_how_near_they_are_and_say_why() -> None:
    """One node preferred is taken; the other node ties, both together are wider, and what is not preferred comes
    last."""
    both = [(0b01, True), (0b10, True), (0b11, False)]
    walk = walked("best-effort", {"cpu": both, "memory": both}, 0b11)
    assert [(one.nodes, one.lost) for one in walk.shown] == [
        ((0,), ""),
        ((1,), "tie"),
        ((0,), "not-preferred"),
        ((1,), "not-preferred"),
        ((0, 1), "not-preferred"),
    ]
    assert (walk.combinations, walk.walked, walk.apart) == (9, 9, 2)


def test_of_too_many_the_best_is_still_shown() -> None:
    """The last of 255 sets of NUMA nodes is the only one that all prefer; it is not among the first combinations."""
    masks = [(mask, mask == 0b10000000) for mask in range(1, 256)]
    walk = walked("restricted", {"cpu": masks, "memory": masks, "gpu": masks}, 0b11111111)
    assert (walk.combinations, walk.walked) == (255**3, MOST_WALKED)
    assert (walk.shown[0].nodes, walk.shown[0].best) == ((7,), True)
