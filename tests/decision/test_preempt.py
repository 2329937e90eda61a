"""Who must go for a critical pod."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.decision.decision import PREEMPTED, PREEMPTING, Decision, NodeShort, Preempted
from numafit.decision.preempt import NoVictims, Victim, may_evict, victims_for
from numafit.ledger.ledger import Ledger
from numafit.managers.protocol import Choices, Draw, WatchedChoices
from numafit.settings.settings import Settings
from numafit.workload.pod import CRITICAL, Pod
from tests.decision.evictions import check_victims, still_missing
from tests.decision.strategies import (
    GI,
    GPU,
    NIC,
    amounts,
    container,
    cpus,
    pod,
    pods,
    settings,
)

NODE_CRITICAL = CRITICAL + 1000
NEW = settings("1.36")


def critical(uid: str = "critical", priority: int | None = CRITICAL) -> Pod:
    return replace(pod(uid, container("app", {})), priority=priority)


def burstable(uid: str, cpu: str, memory: str = "0") -> Pod:
    return pod(uid, container("app", {}, requests={"cpu": cpu, "memory": memory}))


def best_effort(uid: str, devices: str = "") -> Pod:
    return pod(uid, container("app", {GPU: devices} if devices else {}))


def short(**missing: int) -> list[NodeShort]:
    return [NodeShort(name.replace("_", "-"), amount, 0, 0) for name, amount in missing.items()]


def victims(
    others: list[Pod], missing: list[NodeShort], ordered: Settings = NEW, choices: Choices | None = None
) -> list[str]:
    found = victims_for(ordered, critical(), others, missing, choices or Choices())
    assert not isinstance(found, NoVictims), found
    return [victim.pod.uid for victim in found]


# --- who may go ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("preemptor", "other", "may"),
    [
        (critical(), best_effort("a"), True),
        (critical(), replace(best_effort("a"), priority=CRITICAL - 1), True),
        (critical(), critical("a"), False),
        (critical(priority=NODE_CRITICAL), critical("a"), True),
        (critical(), critical("a", NODE_CRITICAL), False),
        (replace(critical(), static=True, priority=None), best_effort("a"), True),
        (replace(critical(), static=True, priority=None), critical("a"), False),
        (critical(priority=NODE_CRITICAL), replace(best_effort("a"), static=True), False),
        (critical(priority=NODE_CRITICAL), replace(best_effort("a"), static=True, priority=0), True),
    ],
)
def test_a_pod_may_go_that_is_not_critical_or_has_the_lower_priority(preemptor: Pod, other: Pod, may: bool) -> None:
    """Only priorities that are both there are compared (1.20 to 1.37); a static pod has one if its manifest says so."""
    assert may_evict(preemptor, other) is may


def test_a_critical_pod_never_goes_for_its_equal() -> None:
    found = victims_for(NEW, critical(), [critical("a"), critical("b")], short(pods=1), Choices())
    assert found == NoVictims({"pods": 1}, 0)


# --- which of them ---------------------------------------------------------------------------------------------------


def test_of_a_class_the_pod_nearest_to_what_is_missing_goes_first() -> None:
    """As in a run of 1.36.3: 5500m are missing, 5000m come nearer than 3500m, and then 500m are missing still."""
    assert victims([burstable("b2", "3500m"), burstable("b1", "5")], short(cpu=5500)) == ["b1", "b2"]


def test_of_pods_that_free_enough_the_smallest_goes() -> None:
    """By memory first, whatever is missing, then by CPU."""
    others = [burstable("large", "4", "2Gi"), burstable("small", "8", "1Gi"), burstable("middle", "5", "2Gi")]
    assert victims(others, short(cpu=2000)) == ["small"]
    assert victims(others[::2], short(cpu=2000)) == ["large"]


def test_guaranteed_pods_go_only_for_what_all_others_do_not_free() -> None:
    others = [pod("guaranteed", cpus("app", "8")), burstable("burstable", "2"), burstable("small", "1")]
    assert victims(others, short(cpu=3000)) == ["burstable", "small"]
    assert victims(others, short(cpu=4000)) == ["guaranteed"]


def test_best_effort_pods_come_first_in_the_list_and_last_in_the_choice() -> None:
    others = [pod("guaranteed", cpus("app", "8")), burstable("burstable", "2"), best_effort("best-effort", "1")]
    assert victims(others, [*short(cpu=9000), NodeShort(GPU, 1, 1, 1)]) == ["best-effort", "burstable", "guaranteed"]


def test_a_place_for_a_pod_is_freed_by_the_lowest_class() -> None:
    others = [pod("guaranteed", cpus("app", "1")), best_effort("a"), burstable("b", "1")]
    assert victims(others, short(pods=1)) == ["a"]
    assert victims([others[0], others[2]], short(pods=1)) == ["b"]


def test_each_missing_resource_weighs_the_same() -> None:
    """A quarter of both is farther than all of one and nothing of the other: 2 * 0.75 ** 2 against 1."""
    half = burstable("quarters", "1", "1Gi")
    one = burstable("one", "4", "1")
    rest = burstable("rest", "8", "8Gi")
    found = victims_for(NEW, critical(), [half, one], short(cpu=4000, memory=4 * GI), Choices())
    assert isinstance(found, NoVictims)
    assert victims([half, one], short(cpu=4000, memory=GI)) == ["quarters", "one"]
    assert victims([half, one, rest], short(cpu=4000, memory=4 * GI)) == ["rest"]


def test_equal_pods_are_left_to_chance_and_the_youngest_goes() -> None:
    others = [best_effort("a"), best_effort("b"), best_effort("c")]
    watched = WatchedChoices()
    assert victims(others, short(pods=1), choices=watched) == ["c"]
    assert watched.draws == [Draw("victim", candidates=3, count=1)]
    assert victims(others, short(pods=2)) == ["c", "b"]


# --- what a pod frees ------------------------------------------------------------------------------------------------


def freed(ordered: Settings, other: Pod, name: str) -> int:
    found = victims_for(ordered, critical(), [other], [NodeShort(name, 1, 0, 0)], Choices())
    if isinstance(found, NoVictims):
        return 0
    return found[0].frees[name]


@pytest.mark.parametrize(("version", "cpu"), [("1.20", 3000), ("1.28", 3000), ("1.33", 3000), ("1.34", 5000)])
def test_a_sidecar_counts_like_any_init_container_before_1_34(version: str, cpu: int) -> None:
    sidecar = container("sidecar", {}, requests={"cpu": "2"}, restartable=True)
    other = pod("a", container("app", {}, requests={"cpu": "3"}), init=[sidecar])
    assert freed(settings(version), other, "cpu") == cpu


def test_overhead_counts_only_beside_a_request() -> None:
    other = replace(burstable("a", "1"), overhead=amounts({"cpu": "500m", "memory": "1Gi"}))
    assert (freed(NEW, other, "cpu"), freed(NEW, other, "memory")) == (1500, 0)
    assert freed(settings("1.23", gates={"PodOverhead": False}), other, "cpu") == 1000


def test_pod_level_resources_stand_for_all_containers_from_1_34_on() -> None:
    """Devices of the containers then count for nothing, also where they are what is missing."""
    other = pod("a", container("app", {GPU: "2"}, requests={"cpu": "1", GPU: "2"}), whole={"cpu": "4", "memory": "1Gi"})
    assert (freed(NEW, other, "cpu"), freed(NEW, other, GPU)) == (4000, 0)
    off = settings("1.36", gates={"PodLevelResources": False})
    assert (freed(off, other, "cpu"), freed(off, other, GPU)) == (4000, 2)
    old = settings("1.33", gates={"PodLevelResources": True})
    assert (freed(old, other, "cpu"), freed(old, other, GPU)) == (1000, 2)


def test_without_isolation_of_local_storage_no_pod_frees_any() -> None:
    other = pod("a", container("app", {}, requests={"cpu": "1", "ephemeral-storage": "1Gi"}))
    assert freed(settings("1.24"), other, "ephemeral-storage") == GI
    off = settings("1.24", gates={"LocalStorageCapacityIsolation": False})
    assert freed(off, other, "ephemeral-storage") == 0


# --- laws ------------------------------------------------------------------------------------------------------------

PRIORITIES = st.sampled_from([None, None, 0, 10, CRITICAL - 1, CRITICAL, NODE_CRITICAL])
RELEASES = ("1.20", "1.27", "1.31", "1.33", "1.34", "1.36", "1.37")


@st.composite
def crowds(draw: st.DrawFn) -> list[Pod]:
    crowd = []
    for number in range(draw(st.integers(0, 8))):
        one = draw(pods(f"uid-{number}"))
        kind = draw(st.integers(0, 3))
        if kind == 0:
            one = replace(one, containers=(container("app", {NIC: "1"} if draw(st.booleans()) else {}),))
        crowd.append(replace(one, priority=draw(PRIORITIES), static=draw(st.integers(0, 9)) == 0))
    return crowd


NAMES = st.sampled_from(["pods", "cpu", "memory", GPU, NIC])


@given(
    crowds(),
    st.dictionaries(NAMES, st.sampled_from([1, 2, 900, 2500, 3 * GI]), min_size=1),
    PRIORITIES,
    st.sampled_from(RELEASES),
)
def test_those_who_go_free_enough_and_none_of_them_goes_for_nothing(
    crowd: list[Pod], missing: dict[str, int], priority: int | None, version: str
) -> None:
    """Counted again by hand: who may go, what is missing at each turn, who is nearest. Equals change only who."""
    ordered = settings(version)
    preemptor = replace(critical(), priority=priority, static=priority is None or priority < CRITICAL)
    lacking = [NodeShort(name, amount, 0, 0) for name, amount in missing.items()]
    found = victims_for(ordered, preemptor, crowd, lacking, Choices())
    unmet = still_missing(ordered, preemptor, crowd, missing)
    if isinstance(found, NoVictims):
        assert found.missing == unmet
        return
    assert not unmet
    assert not any(victim.pod.critical and not may_evict(preemptor, victim.pod) for victim in found)
    check_victims(ordered, preemptor, crowd, missing, [as_decision(preemptor, victim) for victim in found])


def as_decision(preemptor: Pod, victim: Victim) -> Decision:
    chosen = (victim.missing, victim.frees, victim.distance, victim.among, victim.equals, victim.larger)
    cause = Preempted(preemptor.full_name, victim.qos, *chosen)
    return Decision(victim.pod, victim.qos, False, Ledger(), PREEMPTING, PREEMPTED, cause=cause)


def test_the_missing_amounts_are_what_is_asked_beyond_what_is_left() -> None:
    assert NodeShort("cpu", 4000, 14500, 15000).missing == 3500
