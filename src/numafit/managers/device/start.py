"""The device manager when the kubelet starts: what its file tells of devices that containers hold."""

from msgspec.structs import replace

from numafit.ledger.files.allocate_response import AllocateResponseError, decode_response
from numafit.ledger.ledger import DeviceLedger, Held
from numafit.managers.device.manager import allocated_devices
from numafit.settings.settings import Settings


def start_device_manager(settings: Settings, text: str | None) -> tuple[DeviceLedger, str]:
    """The ledger, and why the file could not be read: the kubelet says so and goes on without it.

    No plugin has registered yet: a resource from the file is known, with no healthy device.
    """
    if text is None:
        return DeviceLedger(), ""
    # A node that starts empty needs no reader, and a command starts quicker without it.
    from numafit.ledger.files.checkpoint import RestoreError
    from numafit.ledger.files.device import read_device

    try:
        content = read_device(text, settings.behaviour)
    except RestoreError as error:
        return DeviceLedger(file=text), str(error)
    held: dict[str, dict[str, dict[str, Held]]] = {}
    for entry in content.entries or ():
        if not _is_response(entry.response):
            # The kubelet logs an answer that it cannot decode, and goes on without the entry.
            continue
        ids = frozenset(device for devices in entry.devices.values() for device in devices)
        container = held.setdefault(entry.pod_uid, {}).setdefault(entry.container, {})
        container[entry.resource] = Held(entry.devices, ids, entry.response)
    healthy: dict[str, frozenset[str]] = dict.fromkeys(content.registered, frozenset())
    ledger = DeviceLedger(held=held, healthy=healthy, file=text)
    return replace(ledger, allocated=allocated_devices(ledger)), ""


def _is_response(data: bytes) -> bool:
    try:
        decode_response(data)
    except AllocateResponseError:
        return False
    return True
