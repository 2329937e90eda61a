"""Plugins that come and go, worked out from the kubelet's own code of each release."""

from typing import Literal

import pytest
from msgspec.structs import replace

from numafit.decision.files import state_files
from numafit.ledger.ledger import DeviceLedger, Held
from numafit.ledger.state_files import DEVICE_FILE
from numafit.machine.model import Device
from numafit.managers.device.manager import free_devices, is_plugin_resource
from numafit.managers.device.registration import ended, forgotten
from tests.decision.strategies import GPU, NIC, SEED_BOX, gpus, running, settings


def stopped(ledger: DeviceLedger, resource: str) -> DeviceLedger:
    node, _ = running(SEED_BOX, settings())
    return node.device.stopped(ledger, resource)


def registered() -> DeviceLedger:
    """Both GPUs listed, one of them sick, and one held by a pod."""
    node, ledger = running(SEED_BOX, settings())
    listed = (Device(GPU, "GPU0", (0,)), Device(GPU, "GPU1", (1,)), Device(GPU, "GPU2", (1,), healthy=False))
    device = replace(
        ledger.device,
        held={"p": {"app": {GPU: Held({0: ("GPU0",)}, frozenset({"GPU0"}), b"")}}},
        allocated={GPU: frozenset({"GPU0"})},
    )
    return node.device.listed(device, GPU, listed)


def test_the_devices_of_a_plugin_that_ends_are_unhealthy_and_stay_listed() -> None:
    """Capacity still counts them, and who holds one keeps it (all releases)."""
    before = registered()
    after = stopped(before, GPU)
    assert after == replace(before, healthy={GPU: frozenset()}, connected=frozenset())
    assert (is_plugin_resource(after, GPU), free_devices(after, GPU)) == (True, frozenset())


def test_the_end_of_a_plugin_is_not_written_to_the_state_file() -> None:
    """It has the ids of the last list until something else writes it (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    with_plugin = replace(ledger, device=registered())
    without = replace(ledger, device=stopped(registered(), GPU))
    assert state_files(node, with_plugin)[DEVICE_FILE] == state_files(node, without)[DEVICE_FILE]


def test_a_plugin_that_comes_back_brings_its_own_list() -> None:
    """It replaces the old one and is written (all releases)."""
    node, _ = running(SEED_BOX, settings())
    back = node.device.listed(stopped(registered(), GPU), GPU, gpus(1))
    assert (back.healthy, back.connected) == ({GPU: frozenset({"GPU0"})}, frozenset({GPU}))
    assert back.written == (back.held, back.healthy)


def test_a_resource_that_no_plugin_registered_cannot_end() -> None:
    assert stopped(registered(), NIC) == registered()


def test_after_the_grace_period_a_resource_is_given_up_and_the_file_written() -> None:
    """Five minutes after the end; devices that are held stay held, and the old list is kept (all releases)."""
    before = stopped(registered(), GPU)
    after = forgotten(before, GPU)
    assert after == replace(before, healthy={}, written=(before.held, {}), file=None)
    assert is_plugin_resource(after, GPU)


def test_a_resource_that_nobody_holds_is_none_of_a_plugin_once_it_is_given_up() -> None:
    """The manager passes it by; only the node's sums can refuse a pod (all releases)."""
    before = replace(stopped(registered(), GPU), held={}, allocated={})
    assert not is_plugin_resource(forgotten(before, GPU), GPU)


def test_a_plugin_that_is_there_is_not_given_up() -> None:
    assert forgotten(registered(), GPU) == registered()


def test_a_resource_known_from_the_state_file_alone_is_given_up_like_one_whose_plugin_ended() -> None:
    """The kubelet counts the five minutes from its start (all releases)."""
    before = DeviceLedger(healthy={GPU: frozenset()}, file="{}")
    assert forgotten(before, GPU) == DeviceLedger(written=({}, {}))


@pytest.mark.parametrize(
    ("release", "rule"), [("1.20", "newest"), ("1.24", "newest"), ("1.25", "any"), ("1.36.4", "any"), ("1.37", "last")]
)
@pytest.mark.parametrize(("newest", "last"), [(True, False), (False, False), (True, True)])
def test_of_two_plugins_for_one_resource_the_release_says_whose_end_counts(
    release: str, rule: Literal["newest", "any", "last"], newest: bool, last: bool
) -> None:
    """Up to 1.24 that of the newest, up to 1.36 that of any, from 1.37 on that of the last one."""
    node, _ = running(SEED_BOX, settings(release))
    assert node.device.behaviour.device_plugin_end == rule
    ledger = registered()
    counts = {"newest": newest, "any": True, "last": last}[rule]
    found = ended(node.device, ledger, GPU, newest=newest, last=last)
    assert found == (stopped(ledger, GPU) if counts else ledger)
