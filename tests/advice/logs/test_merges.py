"""The merge of a log against the engine's."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.advice.logs.admission import LoggedMerge
from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.advice.logs.merges import check_merge
from numafit.managers.topology.hint import ProviderHints
from numafit.managers.topology.merge import merge
from numafit.settings.versions import behaviour_of, parse_version

HINTS = st.lists(st.tuples(st.integers(1, 7), st.booleans()), max_size=4).map(tuple)
PROVIDERS = st.lists(st.dictionaries(st.sampled_from(["cpu", "memory"]), HINTS, max_size=1), min_size=2, max_size=3)
GPU_AND_CPU = ({"gpu": ((1, True), (2, True), (3, False))}, {"cpu": ((3, True),)})


def known(release: str, policy: str, nodes: int = 7) -> LoggedKubelet:
    version = parse_version(release)
    return LoggedKubelet(1, version, version.minor, version.minor, frozenset((policy,)), "pod", False, nodes)


@given(PROVIDERS, st.sampled_from(["best-effort", "restricted", "single-numa-node"]), st.sampled_from(["1.20", "1.36"]))
def test_what_the_engine_merges_agrees_with_itself(providers: list[ProviderHints], policy: str, release: str) -> None:
    """And the opposite verdict does not."""
    found = merge(policy, providers, 7, behaviour=behaviour_of(parse_version(release)))
    kubelet = known(release, policy)
    assert check_merge(LoggedMerge("", tuple(providers), found.best, found.admit), kubelet).agrees is True
    assert check_merge(LoggedMerge("", tuple(providers), found.best, not found.admit), kubelet).agrees is False


@pytest.mark.parametrize(("release", "best"), [("1.20", (1, True)), ("1.24", (3, False))])
def test_each_release_is_checked_by_its_own_rule(release: str, best: tuple[int, bool]) -> None:
    """Masks that differ can be preferred together up to 1.23 only (1 GPU and 16 CPUs of the first field box)."""
    logged = LoggedMerge("app", GPU_AND_CPU, best, True)
    assert check_merge(logged, known(release, "best-effort", 3)).agrees is True


def test_a_merge_that_differs_says_what_the_engine_gets() -> None:
    check = check_merge(LoggedMerge("app", GPU_AND_CPU, (2, True), True), known("1.36", "best-effort", 3))
    assert (check.agrees, check.computed) == (False, (3, False))


def test_releases_that_the_log_leaves_open_are_all_tried() -> None:
    """Go values are written by 1.21 to 1.27; the rule changed in 1.24."""
    kubelet = LoggedKubelet(first_minor=21, last_minor=27, policies=frozenset(("best-effort",)), numa_nodes=3)
    for best in ((1, True), (3, False)):
        assert check_merge(LoggedMerge("app", GPU_AND_CPU, best, True), kubelet).agrees is True


def test_a_merge_with_missing_hint_lines_is_not_judged() -> None:
    """Each kubelet has two providers or more; a log may have lost lines."""
    assert check_merge(LoggedMerge("app", GPU_AND_CPU[:1], (2, True), True), known("1.36", "restricted")).agrees is None


def test_a_machine_larger_than_the_masks_in_the_log_is_thought_of() -> None:
    """single-numa-node stores node 0 by its mask unless it is the only node there is."""
    logged = LoggedMerge("c", ({"cpu": ((1, True),)}, {}), (1, True), True)
    assert check_merge(logged, known("1.36", "single-numa-node", 1)).agrees is True


def test_an_option_that_may_be_set_is_not_held_against_a_log() -> None:
    """prefer-closest-numa-nodes (1.26 on) chooses by distances, which the log does not hold."""
    providers: tuple[ProviderHints, ...] = ({"cpu": ((3, True), (12, True), (15, False))}, {})
    for minor, best, agrees in (
        (25, (12, True), False),
        (36, (12, True), None),
        (36, (3, True), True),
        (36, (15, True), False),
    ):
        kubelet = LoggedKubelet(first_minor=minor, last_minor=minor, policies=frozenset(("restricted",)), numa_nodes=15)
        assert check_merge(LoggedMerge("c", providers, best, True), kubelet).agrees is agrees
