"""Which devices a container gets, step by step."""

from collections.abc import Iterable, Mapping, Sequence

import pytest
from msgspec.structs import replace

from numafit.ledger.ledger import Held, Hint, Ledger
from numafit.machine.model import Device, Machine
from numafit.managers.device.pick import DevicePick
from numafit.managers.device.plugin import Plugin, Preference
from numafit.managers.protocol import Call, Choices, PluginCall
from tests.decision.strategies import GPU, box, call_for, container, gpus, pod, running, settings
from tests.managers.refusals import Words, words

FOUR = box(2, 8, devices=gpus(0, 0, 1, 1))
"""GPU0 and GPU1 on node 0, GPU2 and GPU3 on node 1."""
MIXED = box(2, 8, devices=gpus(0, 1, None))
"""One GPU on each node and one without topology."""


def picking(
    wanted: int,
    *,
    machine: Machine = FOUR,
    version: str = "1.36",
    hint: Hint = (None, False),
    preference: Preference = "none",
    taken: Sequence[str] = (),
    reuse: Sequence[str] = (),
    owned: Sequence[str] | None = None,
    choices: Choices | None = None,
) -> DevicePick:
    node, ledger = running(machine, settings(version), {GPU: Plugin(preference)})
    used = frozenset((*taken, *reuse, *(owned or ())))
    device = replace(ledger.device, allocated={GPU: used}, reuse_pod="p", reuse={GPU: frozenset(reuse)})
    if owned is not None:
        device = replace(device, held={"p": {"app": {GPU: Held({0: tuple(owned)}, frozenset(owned), b"")}}})
    call = call_for(node, replace(ledger, device=device), pod("p", container("app", {GPU: str(wanted)})), hint, choices)
    return DevicePick(node.device, call, "app", GPU, wanted)


def with_ledger(pick: DevicePick, **fields: object) -> DevicePick:
    """The same pick on another device ledger."""
    call = pick.call
    call.ledger = replace(call.ledger, device=replace(call.ledger.device, **fields))
    return pick


def asked(*offered: str, answer: Sequence[str], size: int, must_include: Sequence[str] = ()) -> PluginCall:
    return PluginCall("preferred", GPU, tuple(answer), offered, tuple(must_include), size)


# --- what the container has already ----------------------------------------------------------------------------------


def test_a_container_that_has_its_devices_takes_none() -> None:
    """Nothing is needed (all releases)."""
    pick = picking(2, owned=["GPU0", "GPU1"])
    assert (pick.run(), pick.taken) == (None, [])


def test_a_changed_request_is_refused() -> None:
    """A pod's limits do not change; the kubelet says so loudly (all releases)."""
    assert words(picking(3, owned=["GPU0"]).run()) == Words(
        f'pod "p" container "app" changed request for resource "{GPU}" from 1 to 3'
    )


def test_a_request_for_no_device_takes_none() -> None:
    """But the resource must be registered and healthy (since the checks of 1.25.10, 1.26.5 and 1.27.2)."""
    assert picking(0).run() is None
    unhealthy = with_ledger(picking(0), healthy={GPU: frozenset()})
    assert words(unhealthy.run()) == Words(f"no healthy devices present; cannot allocate unhealthy devices {GPU}")


# --- health ----------------------------------------------------------------------------------------------------------

UNREGISTERED: Mapping[str, frozenset[str]] = {}
NONE_HEALTHY: Mapping[str, frozenset[str]] = {GPU: frozenset()}
ONE_SICK: Mapping[str, frozenset[str]] = {GPU: frozenset({"GPU1", "GPU2", "GPU3"})}


@pytest.mark.parametrize(
    ("version", "healthy", "owned", "text"),
    [
        ("1.27.1", UNREGISTERED, None, f"can't allocate unregistered device {GPU}"),
        ("1.27.2", UNREGISTERED, None, f"cannot allocate unregistered device {GPU}"),
        ("1.26.4", UNREGISTERED, None, f"can't allocate unregistered device {GPU}"),
        ("1.26.5", UNREGISTERED, None, f"cannot allocate unregistered device {GPU}"),
        (
            "1.27.1",
            NONE_HEALTHY,
            None,
            f"requested number of devices unavailable for {GPU}. Requested: 1, Available: 0",
        ),
        ("1.27.2", NONE_HEALTHY, None, f"no healthy devices present; cannot allocate unhealthy devices {GPU}"),
        ("1.27.1", UNREGISTERED, ["GPU0"], None),
        ("1.27.2", UNREGISTERED, ["GPU0"], f"cannot allocate unregistered device {GPU}"),
        ("1.27.1", ONE_SICK, ["GPU0"], None),
        (
            "1.27.2",
            ONE_SICK,
            ["GPU0"],
            f"previously allocated devices are no longer healthy; cannot allocate unhealthy devices {GPU}",
        ),
        ("1.36", ONE_SICK, ["GPU1"], None),
    ],
)
def test_health_is_checked_even_when_nothing_is_needed(
    version: str, healthy: Mapping[str, frozenset[str]], owned: list[str] | None, text: str | None
) -> None:
    """The checks came with 1.25.10, 1.26.5 and 1.27.2."""
    pick = with_ledger(picking(1, version=version, owned=owned), healthy=healthy)
    assert words(pick.run()) == (None if text is None else Words(text))


@pytest.mark.parametrize(
    ("version", "running_there", "kept"),
    [("1.27.5", True, False), ("1.27.6", True, True), ("1.36", True, True), ("1.36", False, False)],
)
def test_containers_that_run_keep_their_devices_while_the_kubelet_restarts(
    version: str, running_there: bool, kept: bool
) -> None:
    """Before the plugin is back (1.25.14, 1.26.9, 1.27.6 and later). After a reboot nothing runs."""
    pick = with_ledger(picking(1, version=version, owned=["GPU0"]), healthy=NONE_HEALTHY)
    there = frozenset({("p", "app")}) if running_there else frozenset()
    pick.call.ledger = replace(pick.call.ledger, ready=False, running=there)
    expected = None if kept else Words(f"no healthy devices present; cannot allocate unhealthy devices {GPU}")
    assert words(pick.run()) == expected


# --- taking ----------------------------------------------------------------------------------------------------------


def test_devices_of_init_containers_come_first() -> None:
    """Wherever they are, and whether they are healthy or not (all releases)."""
    pick = picking(2, hint=(0b01, True), reuse=["GPU3"])
    assert (pick.run(), pick.taken) == (None, ["GPU3", "GPU0"])
    enough = picking(1, hint=(0b01, True), reuse=["GPU3"], preference="first")
    assert (enough.run(), enough.taken, enough.call.plugin_calls) == (None, ["GPU3"], [])


def test_too_few_devices_are_refused_with_what_is_still_missing() -> None:
    """After what may be reused (all releases)."""
    pick = picking(4, taken=["GPU0", "GPU1"], reuse=["GPU2"])
    assert words(pick.run()) == Words(f"requested number of devices unavailable for {GPU}. Requested: 3, Available: 1")


@pytest.mark.parametrize(
    ("hint", "wanted", "expected"),
    [
        ((0b10, True), 1, ["GPU2"]),
        ((0b10, True), 2, ["GPU2", "GPU3"]),
        ((0b10, False), 3, ["GPU2", "GPU3", "GPU0"]),
        ((0b11, False), 3, ["GPU0", "GPU1", "GPU2"]),
        ((None, False), 3, ["GPU0", "GPU1", "GPU2"]),
    ],
)
def test_aligned_devices_come_before_the_others(hint: Hint, wanted: int, expected: list[str]) -> None:
    """Without an affinity all are alike (all releases)."""
    pick = picking(wanted, hint=hint)
    assert (pick.run(), pick.taken) == (None, expected)


def test_devices_without_a_node_come_last() -> None:
    """Aligned, elsewhere, nowhere (all releases)."""
    pick = picking(3, machine=MIXED, hint=(0b10, False))
    assert (pick.run(), pick.taken) == (None, ["GPU1", "GPU0", "GPU2"])


def test_what_the_kernel_calls_no_node_is_none() -> None:
    """Plugins hand on its -1, which is the kubelet's own sign for that; any other number is a node elsewhere."""
    for version in ("1.20", "1.36"):
        pick = picking(3, machine=box(2, 8, devices=gpus(-1, 2**40, 1)), version=version, hint=(0b10, False))
        assert (pick.run(), pick.taken) == (None, ["GPU2", "GPU1", "GPU0"])


def test_taken_devices_are_out_of_what_is_free_at_once() -> None:
    """Before the plugin is asked to allocate them (all releases)."""
    pick = picking(2, hint=(0b10, True))
    assert pick.run() is None
    assert pick.call.ledger.device.allocated == {GPU: frozenset({"GPU2", "GPU3"})}


class Backwards(Choices):
    def devices(self, container: str, resource: str, candidates: Iterable[str], count: int) -> Sequence[str]:
        return sorted(candidates, reverse=True)

    def nodes(self, nodes: Iterable[int]) -> Sequence[int]:
        return sorted(nodes, reverse=True)


def test_which_of_equal_devices_is_a_matter_of_choice() -> None:
    """Go's map order in the kubelet; numafit sorts unless told (all releases)."""
    pick = picking(1, hint=(0b10, True), choices=Backwards())
    assert (pick.run(), pick.taken) == (None, ["GPU3"])


@pytest.mark.parametrize(
    ("version", "choices", "expected"),
    [
        ("1.22", None, ["GPU0"]),
        ("1.22", Backwards(), ["GPU0"]),
        ("1.21", None, ["GPU0"]),
        ("1.21", Backwards(), ["GPU1"]),
    ],
)
def test_a_device_on_several_nodes_is_aligned_when_any_of_them_is(
    version: str, choices: Choices | None, expected: list[str]
) -> None:
    """In 1.20 and 1.21 only the node that comes first decides, and which one that is, is a matter of chance."""
    machine = box(2, 4, devices=[Device(GPU, "GPU0", (0, 1)), Device(GPU, "GPU1", (1,))])
    pick = picking(1, machine=machine, version=version, hint=(0b01, True), choices=choices)
    assert (pick.run(), pick.taken) == (None, expected)


# --- what the plugin prefers -----------------------------------------------------------------------------------------


def test_the_plugin_chooses_among_more_aligned_devices_than_needed() -> None:
    """Two candidates, one wanted (all releases)."""
    pick = picking(1, hint=(0b10, True), preference="last")
    assert (pick.run(), pick.taken) == (None, ["GPU3"])
    assert pick.call.plugin_calls == [asked("GPU2", "GPU3", answer=["GPU3"], size=1)]


def test_the_plugin_is_not_asked_when_the_aligned_devices_are_just_enough() -> None:
    """Two wanted, two there (all releases)."""
    pick = picking(2, hint=(0b10, True), preference="last")
    assert (pick.run(), pick.taken, pick.call.plugin_calls) == (None, ["GPU2", "GPU3"], [])


def test_the_plugin_is_asked_for_the_rest_with_the_aligned_ones_fixed() -> None:
    """All aligned devices are taken first, to keep the alignment (all releases)."""
    pick = picking(3, hint=(0b10, False), preference="last")
    assert (pick.run(), pick.taken) == (None, ["GPU2", "GPU3", "GPU1"])
    assert pick.call.plugin_calls == [
        asked(
            "GPU0",
            "GPU1",
            "GPU2",
            "GPU3",
            answer=["GPU2", "GPU3", "GPU1"],
            size=3,
            must_include=["GPU2", "GPU3"],
        )
    ]


def test_an_answer_that_is_too_short_is_filled_up() -> None:
    """From the aligned devices, or from the others (all releases)."""
    pick = picking(3, hint=(0b11, False), preference="short")
    assert (pick.run(), pick.taken) == (None, ["GPU0", "GPU1", "GPU2"])
    assert pick.call.plugin_calls == [
        asked("GPU0", "GPU1", "GPU2", "GPU3", answer=["GPU0", "GPU1"], size=3),
    ]


def test_a_plugin_that_is_not_there_is_not_asked() -> None:
    """Known from the state file only, it has no options yet (all releases)."""
    pick = with_ledger(picking(1, hint=(0b10, True), preference="last"), connected=frozenset())
    assert (pick.run(), pick.taken, pick.call.plugin_calls) == (None, ["GPU2"], [])


def test_a_refused_preference_leaves_the_ids_taken_so_far_blocked() -> None:
    """Owned by nobody, they are missing for hints and for other pods until the sets are made anew (all releases)."""
    pick = picking(3, hint=(0b10, False), preference="error")
    assert words(pick.run()) == Words(
        "device plugin GetPreferredAllocation rpc failed with err: preferred allocation refused"
    )
    ledger: Ledger = pick.call.ledger
    assert (ledger.device.allocated, ledger.device.held) == ({GPU: frozenset({"GPU2", "GPU3"})}, {})


def test_a_refused_preference_before_anything_was_taken_blocks_nothing() -> None:
    """More aligned devices than needed: the plugin is asked first (all releases)."""
    pick = picking(1, hint=(0b10, False), preference="error")
    assert pick.run() is not None
    assert pick.call.ledger.device.allocated == {GPU: frozenset()}


class Nothing(Choices):
    """A choice that gives no device away."""

    def devices(self, container: str, resource: str, candidates: Iterable[str], count: int) -> Sequence[str]:
        return ()


def test_fewer_devices_than_wanted_are_refused_as_unexpected() -> None:
    """It cannot happen after the check of what is available; the kubelet has a text for it all the same."""
    pick = picking(3, hint=(0b10, False), choices=Nothing())
    assert words(pick.run()) == Words("unexpectedly allocated less resources than required. Requested: 3, Got: 0")


def test_a_pick_moves_the_ledger_of_its_call_only() -> None:
    """Values are frozen: the ledger from before is as it was."""
    pick = picking(2)
    call: Call = pick.call
    before = call.ledger
    assert pick.run() is None
    assert before.device.allocated == {GPU: frozenset()}
    assert call.ledger is not before
