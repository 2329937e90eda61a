"""How a merge walked, written out."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.decision.decision import MergeStep
from numafit.ledger.ledger import Ledger
from numafit.managers.topology.merge import merge
from numafit.settings.versions import behaviour_of, parse_version
from numafit.show.records.walk import MOST_SHOWN, walk_of

GROUND = 0b111
HINTS = st.lists(st.tuples(st.integers(1, GROUND), st.booleans()), max_size=4, unique_by=lambda hint: hint[0])
RELEASES = st.sampled_from(["1.21", "1.23", "1.24", "1.36.4"])
POLICIES = st.sampled_from(["best-effort", "restricted", "single-numa-node"])


@given(POLICIES, RELEASES, st.dictionaries(st.sampled_from(["cpu", "memory", "gpu"]), HINTS, min_size=1))
def test_the_best_of_the_walk_is_what_the_engine_merged(
    policy: str, release: str, lists: dict[str, list[tuple[int, bool]]]
) -> None:
    """The combinations are the kubelet's own, so the answer of the engine is one of them, or there is none."""
    behaviour = behaviour_of(parse_version(release))
    providers = ({name: tuple(hints) for name, hints in lists.items()},)
    merged = merge(policy, providers, GROUND, behaviour=behaviour)
    step = MergeStep("", providers, merged.best, merged.admit, Ledger())
    walk = walk_of(step, policy, GROUND, equal_masks=behaviour.merge_equal_masks)
    assert walk.combinations is not None
    assert len(walk.shown) == min(walk.combinations, MOST_SHOWN)
    reached = {(one.nodes, one.preferred) for one in walk.shown if one.nodes}
    best = [one for one in walk.shown if one.best]
    if merged.best[1]:
        assert best
    if reached and policy != "single-numa-node":
        assert best


def test_single_numa_node_drops_wide_hints_first() -> None:
    """What is dropped is counted."""
    providers = ({"cpu": ((0b01, True), (0b11, False)), "gpu": ((0b10, True),)},)
    merged = merge("single-numa-node", providers, 0b11, behaviour=behaviour_of(parse_version("1.36.4")))
    step = MergeStep("", providers, merged.best, merged.admit, Ledger())
    walk = walk_of(step, "single-numa-node", 0b11, equal_masks=True)
    assert (walk.combinations, walk.filtered) == (1, 1)
    assert [(one.nodes, one.preferred, one.best) for one in walk.shown] == [((), False, False)]
