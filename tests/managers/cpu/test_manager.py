"""The CPU manager: hints, exclusive CPUs, reuse within a pod, and what is given back."""

import pytest
from msgspec.structs import replace

from numafit.bits import cpuset_text, parse_cpuset
from numafit.decision.node import Node
from numafit.ledger.ledger import Ledger
from numafit.workload.pod import Pod
from tests.decision.strategies import SEED_BOX, box, call_for, cpus, pod, running, settings
from tests.managers.cpu.pools import FULL_CORES, holding, seed, shown, smt
from tests.managers.refusals import Words, words

# --- pools -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "allocatable"), [("1.22", "4-27"), ("1.23", "1-27")])
def test_allocatable_cpus_are_what_is_free_up_to_1_22_and_all_but_the_reserved_later(
    version: str, allocatable: str
) -> None:
    """As the pod-resources API reports them."""
    node, ledger = seed(version)
    ledger = holding(ledger, old={"app": "1-3"})
    assert cpuset_text(node.cpu.available(ledger.cpu)) == "4-27"
    assert cpuset_text(node.cpu.allocatable(ledger.cpu)) == allocatable


def test_policy_none_has_no_pools_no_hints_and_gives_nothing() -> None:
    """The manager is there and does nothing (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    call = call_for(node, ledger, pod("p", cpus("app", "3")))
    app = call.ask.pod.containers[0]
    assert (node.cpu.hints(call, app), node.cpu.pod_hints(call), node.cpu.allocate(call, app)) == (None, None, None)
    assert (node.cpu.allocatable(ledger.cpu), shown(call.ledger.cpu)) == (0, ("", {}))


# --- hints -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("taken", "wanted", "expected"),
    [
        ("", "3", ((1, True), (2, True), (3, False))),
        ("", "13", ((1, True), (2, True), (3, False))),
        ("", "14", ((2, True), (3, False))),
        ("", "15", ((3, True),)),
        ("", "28", ()),
        ("14-27", "3", ((1, True), (3, False))),
        ("1-11,14-27", "3", ()),
        ("1-10,14-20", "8", ((3, False),)),
    ],
)
def test_hints_are_the_masks_with_enough_free_cpus(
    taken: str, wanted: str, expected: tuple[tuple[int, bool], ...]
) -> None:
    """Preferred are masks as small as the machine's capacity allows, reserved CPUs counted in (all releases)."""
    node, ledger = seed()
    other = pod("old", cpus("app", "1"))
    call = call_for(node, holding(ledger, other, old={"app": taken}), pod("p", cpus("app", wanted)))
    assert node.cpu.hints(call, call.ask.pod.containers[0]) == {"cpu": expected}
    assert node.cpu.pod_hints(call) == {"cpu": expected}


def test_containers_of_the_shared_pool_have_no_hints() -> None:
    """Fractional CPUs, and pods that are not Guaranteed (all releases)."""
    node, ledger = seed()
    call = call_for(node, ledger, pod("p", cpus("app", "1500m")))
    assert (node.cpu.hints(call, call.ask.pod.containers[0]), node.cpu.pod_hints(call)) == (None, None)


@pytest.mark.parametrize(
    ("version", "expected"), [("1.34", None), ("1.33", {"cpu": ((1, True), (2, True), (3, False))})]
)
def test_pods_with_pod_level_resources_are_skipped_from_1_34_on(version: str, expected: object) -> None:
    """Neither hints nor CPUs, while PodLevelResources is on and nobody manages such pods."""
    node, ledger = running(SEED_BOX, settings(version, cpu="static", gates={"PodLevelResources": True}))
    call = call_for(node, ledger, pod("p", cpus("app", "2"), whole={"cpu": "2", "memory": "1Gi"}))
    app = call.ask.pod.containers[0]
    assert node.cpu.hints(call, app) == expected
    assert node.cpu.pod_hints(call) == expected
    assert node.cpu.allocate(call, app) is None
    assert ("p" in call.ledger.cpu.entries) == (expected is not None)


@pytest.mark.parametrize(
    ("held", "expected"), [("1-3", ((1, True), (3, False))), ("1-2", ()), ("13-15", ((3, False),))]
)
def test_a_container_that_has_its_cpus_gets_hints_for_just_these(held: str, expected: object) -> None:
    """After a restart; with another number than asked for it cannot be satisfied (all releases)."""
    node, ledger = seed()
    wanted = pod("p", cpus("app", "3"))
    call = call_for(node, holding(ledger, p={"app": held}), wanted)
    assert node.cpu.hints(call, wanted.containers[0]) == {"cpu": expected}


@pytest.mark.parametrize(
    ("held", "expected"),
    [
        ({"app": "1-3", "side": "14-15"}, ((3, False),)),
        ({"app": "1-3"}, ((1, True), (3, False))),
        ({"app": "1-3", "side": "14"}, ()),
    ],
)
def test_the_pod_scope_looks_at_what_all_containers_hold(held: dict[str, str], expected: object) -> None:
    """All of it: hints for just these CPUs. Some: the rest comes on top. A wrong number: not to be satisfied."""
    node, ledger = seed()
    call = call_for(node, holding(ledger, p=held), pod("p", cpus("app", "3"), cpus("side", "2")))
    assert node.cpu.pod_hints(call) == {"cpu": expected}


def test_cpus_to_reuse_must_lie_inside_the_mask() -> None:
    """An init container on node 1 leaves 3 CPUs: node 0 alone is no hint for the next container (all releases)."""
    node, ledger = seed()
    wanted = pod("p", cpus("app", "4"), init=[cpus("setup", "3")])
    call = call_for(node, ledger, wanted, (0b10, True))
    assert node.cpu.allocate(call, wanted.init_containers[0]) is None
    assert node.cpu.hints(call, wanted.containers[0]) == {"cpu": ((2, True), (3, False))}


def test_align_by_socket_prefers_all_masks_within_the_fewest_sockets() -> None:
    """Four NUMA nodes on two sockets: two nodes of one socket are as good as one node (1.25 and later)."""
    machine = box(4, 16, sockets=2)
    node, ledger = running(machine, settings(cpu="static", options={"align-by-socket": "true"}))
    call = call_for(node, ledger, pod("p", cpus("app", "2")))
    hints = node.cpu.hints(call, call.ask.pod.containers[0])
    assert hints is not None
    listed = hints["cpu"]
    assert isinstance(listed, tuple)
    assert [mask for mask, preferred in listed if preferred] == [0b0001, 0b0010, 0b0100, 0b1000, 0b0011, 0b1100]


# --- allocation ------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("affinity", "expected"),
    [(None, "14-27"), (0b01, "1-13,14"), (0b10, "14-27"), (0b11, "14-27")],
)
def test_cpus_come_from_the_affinity_first_and_then_from_anywhere(affinity: int | None, expected: str) -> None:
    """Two takes that know nothing of each other: 13 from node 0, one more from node 1 (1.23 and later)."""
    node, ledger = seed()
    wanted = pod("p", cpus("app", "14"))
    call = call_for(node, ledger, wanted, (affinity, True))
    assert node.cpu.allocate(call, wanted.containers[0]) is None
    assert call.ledger.cpu.entries["p"]["app"] == parse_cpuset(expected)
    assert call.ledger.cpu.default == ledger.cpu.default & ~parse_cpuset(expected)


def test_align_by_socket_takes_from_all_nodes_of_the_socket() -> None:
    """The aligned pool are the CPUs of every socket that touches the affinity (1.25 and later)."""
    machine = box(4, 16, sockets=2)
    wanted, other = pod("p", cpus("app", "6")), pod("old", cpus("app", "5"))
    taken = {}
    for value in ("true", "false"):
        node, ledger = running(machine, settings(cpu="static", options={"align-by-socket": value}))
        call = call_for(node, holding(ledger, other, old={"app": "1-5"}), wanted, (0b0100, True))
        assert node.cpu.allocate(call, wanted.containers[0]) is None
        taken[value] = cpuset_text(call.ledger.cpu.entries["p"]["app"])
    assert taken == {"true": "8-13", "false": "6-11"}


@pytest.mark.parametrize(
    ("version", "text"),
    [
        ("1.28", "not enough cpus available to satisfy request"),
        ("1.29", "not enough cpus available to satisfy request: requested=28, available=27"),
    ],
)
def test_too_few_cpus_are_refused_without_a_type(version: str, text: str) -> None:
    """The numbers came with 1.29."""
    node, ledger = seed(version)
    wanted = pod("p", cpus("app", "28"))
    call = call_for(node, ledger, wanted)
    assert words(node.cpu.allocate(call, wanted.containers[0])) == Words(text)
    assert shown(call.ledger.cpu) == ("0-27", {})


def test_a_container_that_has_its_cpus_keeps_them() -> None:
    """Whatever the hint says now (all releases)."""
    node, ledger = seed()
    wanted = pod("p", cpus("app", "3"))
    call = call_for(node, holding(ledger, p={"app": "14-16"}), wanted, (0b01, True))
    assert node.cpu.allocate(call, wanted.containers[0]) is None
    assert shown(call.ledger.cpu) == ("0-13,17-27", {"p": {"app": "14-16"}})


# --- full-pcpus-only -------------------------------------------------------------------------------------------------

NOT_MULTIPLE = "SMT Alignment Error: requested {} cpus not multiple cpus per core = 2"
NOT_ENOUGH = (
    "SMT Alignment Error: not enough free physical CPUs: "
    "available physical CPUs = {}, requested CPUs = {}, CPUs per core = 2"
)


@pytest.mark.parametrize(
    ("version", "taken", "wanted", "text"),
    [
        ("1.22", "", 3, NOT_MULTIPLE.format(3)),
        ("1.36", "", 3, NOT_MULTIPLE.format(3)),
        ("1.26", "1-2,5-6", 4, "not enough cpus available to satisfy request"),
        ("1.27", "1-2,5-6", 4, NOT_ENOUGH.format(2, 4)),
        ("1.27", "1-3,5-7", 2, NOT_MULTIPLE.format(2)),
        ("1.31", "1-3,5-7", 2, NOT_MULTIPLE.format(2)),
        ("1.32", "1-3,5-7", 2, NOT_ENOUGH.format(0, 2)),
        ("1.36", "1-2,5-6", 4, NOT_ENOUGH.format(2, 4)),
    ],
)
def test_full_pcpus_only_refuses_what_does_not_fill_cores(version: str, taken: str, wanted: int, text: str) -> None:
    """Free physical CPUs are looked at since 1.27, the sibling of a reserved CPU not counted; up to 1.31 none at all
    reads as if the number did not fit."""
    node, ledger = smt(version, FULL_CORES)
    other = pod("old", cpus("app", "2"))
    call = call_for(node, holding(ledger, other, old={"app": taken}), pod("p", cpus("app", str(wanted))))
    reason = "SMTAlignmentError" if text.startswith("SMT") else ""
    assert words(node.cpu.allocate(call, call.ask.pod.containers[0])) == Words(text, reason)


@pytest.mark.parametrize(("version", "refused"), [("1.36", True), ("1.37", False)])
def test_up_to_1_36_a_container_that_has_its_cores_may_be_refused_at_a_restart(version: str, refused: bool) -> None:
    """The check for free physical CPUs came before the look into the state."""
    node, ledger = smt(version, FULL_CORES)
    wanted = pod("p", cpus("app", "6"))
    call = call_for(node, holding(ledger, p={"app": "1-3,5-7"}), wanted)
    expected = Words(NOT_ENOUGH.format(0, 6), "SMTAlignmentError") if refused else None
    assert words(node.cpu.allocate(call, wanted.containers[0])) == expected


def test_cpus_to_reuse_do_not_count_as_free_cores() -> None:
    """An init container holds all cores; the app container could have them, and is refused (1.27 and later)."""
    node, ledger = smt(options=FULL_CORES)
    wanted = pod("p", cpus("app", "6"), init=[cpus("setup", "6")])
    call = call_for(node, ledger, wanted)
    assert node.cpu.allocate(call, wanted.init_containers[0]) is None
    assert words(node.cpu.allocate(call, wanted.containers[0])) == Words(NOT_ENOUGH.format(0, 6), "SMTAlignmentError")


# --- reuse -----------------------------------------------------------------------------------------------------------


def allocate_all(node: Node, ledger: Ledger, wanted: Pod) -> Ledger:
    call = call_for(node, ledger, wanted)
    assert [node.cpu.allocate(call, each) for each in wanted.all_containers] == [None] * len(wanted.all_containers)
    return call.ledger


@pytest.mark.parametrize(
    ("version", "side", "app"),
    [("1.28", "1-3", "1-4"), ("1.29", "1-3", "4-7")],
)
def test_sidecars_keep_their_cpus_from_1_29_on(version: str, side: str, app: str) -> None:
    """Before they count as init containers that end, and the app container takes their CPUs too."""
    node, ledger = seed(version)
    wanted = pod("p", cpus("app", "4"), init=[cpus("side", "3", restartable=True)])
    entries = allocate_all(node, ledger, wanted).cpu.entries
    assert {name: cpuset_text(own) for name, own in entries["p"].items()} == {"side": side, "app": app}


def test_init_containers_share_their_cpus_with_all_that_follow() -> None:
    """Entries of one pod overlap; each CPU is out of the shared pool once (all releases)."""
    node, ledger = seed()
    wanted = pod("p", cpus("a", "2"), cpus("b", "2"), init=[cpus("first", "3"), cpus("second", "5")])
    after = allocate_all(node, ledger, wanted).cpu
    assert shown(after) == ("0,6-27", {"p": {"first": "1-3", "second": "1-5", "a": "1-2", "b": "3-4"}})
    assert (after.reuse_pod, cpuset_text(after.reuse)) == ("p", "5")


def test_what_a_pod_may_reuse_is_forgotten_when_another_one_allocates() -> None:
    """There is one set, for the pod that allocated last (all releases)."""
    node, ledger = seed()
    first = pod("first", cpus("app", "1"), init=[cpus("setup", "3")])
    second = pod("second", cpus("app", "2"))
    ledger = allocate_all(node, ledger, first)
    assert (ledger.cpu.reuse_pod, cpuset_text(ledger.cpu.reuse)) == ("first", "2-3")
    ledger = allocate_all(node, ledger, second)
    assert (ledger.cpu.reuse_pod, ledger.cpu.reuse) == ("second", 0)
    assert shown(ledger.cpu)[1]["second"] == {"app": "4-5"}


# --- removal ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("version", "default"), [("1.23", "0-2,4-27"), ("1.24", "0,4-27")])
def test_a_removed_container_gives_back_what_no_sibling_holds(version: str, default: str) -> None:
    """Up to 1.23 it gave back its whole set, also CPUs that another container of the pod was still using."""
    node, ledger = seed(version)
    ledger = holding(ledger, p={"setup": "1-2", "app": "1-3"})
    after = node.cpu.release(ledger.cpu, "p", "setup")
    assert shown(after) == (default, {"p": {"app": "1-3"}})


def test_the_last_container_takes_the_pod_s_entry_with_it() -> None:
    """A pod without containers does not stand in the state file (all releases)."""
    node, ledger = seed()
    after = node.cpu.release(holding(ledger, p={"app": "1-3"}).cpu, "p", "app")
    assert shown(after) == ("0-27", {})


@pytest.mark.parametrize(
    ("version", "pool"),
    [("1.22.0", "0-27"), ("1.22.1", "0,4-27"), ("1.27", "0,4-27"), ("1.31", "0,4-27"), ("1.32", "0-27")],
)
def test_from_1_22_1_to_1_31_the_pod_asked_about_last_outlives_itself(version: str, pool: str) -> None:
    """It is remembered as pending until the next pod comes, also when it was rejected or deleted meanwhile."""
    node, ledger = seed(version)
    wanted = pod("p", cpus("app", "3"))
    after = allocate_all(node, ledger, wanted)
    gone = replace(after, active={})
    assert cpuset_text(node.cpu.without_stale(gone).cpu.default) == pool
    next_pod = pod("next", cpus("app", "500m"))
    call = call_for(node, gone, next_pod)
    assert node.cpu.allocate(call, next_pod.containers[0]) is None
    assert shown(call.ledger.cpu) == ("0-27", {})


def test_hints_remove_stale_cpus_first() -> None:
    """CPUs of a pod that is gone are free for the one that asks now (all releases)."""
    node, ledger = seed()
    call = call_for(node, holding(ledger, gone={"app": "1-13"}), pod("p", cpus("app", "3")))
    assert node.cpu.hints(call, call.ask.pod.containers[0]) == {"cpu": ((1, True), (2, True), (3, False))}
    assert shown(call.ledger.cpu) == ("0-27", {})
