"""What the device manager makes of its file."""

from msgspec.structs import replace

from numafit.ledger.files.device import DeviceEntry, DeviceFile, device_bytes
from numafit.ledger.ledger import DeviceLedger, Held
from numafit.managers.device.start import start_device_manager
from tests.decision.strategies import GPU, NIC, settings


def test_devices_that_containers_hold_are_restored_and_those_of_a_plugin_wait_for_it() -> None:
    """A resource from the file is known, with no healthy device, until its plugin is back (all releases)."""
    content = DeviceFile(
        (DeviceEntry("p", "app", GPU, {0: ("GPU0",), 1: ("GPU1",)}, b""),), {GPU: ("GPU0", "GPU1"), NIC: ()}
    )
    text = device_bytes(content)
    assert start_device_manager(settings(), text)[0] == DeviceLedger(
        held={"p": {"app": {GPU: Held({0: ("GPU0",), 1: ("GPU1",)}, frozenset({"GPU0", "GPU1"}), b"")}}},
        allocated={GPU: frozenset({"GPU0", "GPU1"})},
        healthy={GPU: frozenset(), NIC: frozenset()},
        file=text,
    )


def test_an_entry_whose_answer_cannot_be_decoded_is_left_out() -> None:
    """The kubelet logs it and goes on with the others (all releases)."""
    good = DeviceEntry("p", "app", GPU, {0: ("GPU0",)}, b"")
    bad = replace(good, pod_uid="q", response=b"\xff")
    text = device_bytes(DeviceFile((bad, good), {}))
    assert set(start_device_manager(settings(), text)[0].held) == {"p"}
