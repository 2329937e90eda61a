"""Device plugins in a log: when they registered, and what they listed.

A log has numbers, not the ids of devices: those come from the machine. Where a plugin calls all of them healthy, or
none, its list is known; of some it cannot be told which.
"""

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from numafit.advice.past.past import UNPLAYED
from numafit.advice.past.signs import Sign
from numafit.decision.history.event import Event, ForgetPlugin, ListDevices, PluginsAt, StartPlugin, StopPlugin
from numafit.machine.model import Device
from numafit.managers.device.registration import GRACE_PERIOD
from numafit.notes import Note

GIVEN_UP = GRACE_PERIOD * 1_000_000
"""In microseconds, as a log has its times."""


class LoggedPlugins:
    def __init__(self, devices: Mapping[str, tuple[Device, ...]]) -> None:
        self.lists = dict(devices)
        """Resource -> its devices as they were listed last, as far as that is known."""
        self.connected: set[str] = set()
        self.seen: set[str] = set()
        self.away: dict[str, int] = {}
        """Resource -> since when its plugin is away."""
        self.notes: list[Note] = []
        self.unknown: set[str] = set()

    def event(self, sign: Sign) -> Event | None:
        """What a sign of a plugin means while the kubelet runs."""
        resource = sign.text
        if resource not in self.lists:
            self.note_unknown(resource)
            return None
        if sign.kind == "register":
            again = resource in self.seen
            self.connect([resource])
            return StartPlugin(resource, self.lists[resource], again=again)
        if sign.kind == "end":
            if resource not in self.connected:
                return None
            self.connected.discard(resource)
            self.away[resource] = sign.time
            return StopPlugin(resource)
        return self._listed(sign)

    def connect(self, resources: Sequence[str]) -> None:
        self.connected.update(resources)
        self.seen.update(resources)
        for resource in resources:
            self.away.pop(resource, None)

    def given_up(self, now: int) -> list[Event]:
        """Those that have been away for too long."""
        over = [resource for resource, since in self.away.items() if now > since + GIVEN_UP]
        for resource in over:
            del self.away[resource]
        return [ForgetPlugin(resource) for resource in over]

    def _listed(self, sign: Sign) -> Event | None:
        resource = sign.text
        now = self.lists[resource]
        healthy = sum(device.healthy for device in now)
        told = sign.total if sign.healthy is None else sign.healthy
        if sign.total in (None, len(now)) and told in (None, healthy):
            return None
        if sign.total == len(now) and told in (0, len(now)):
            self.lists[resource] = tuple(replace(device, healthy=told != 0) for device in now)
            return ListDevices(resource, self.lists[resource])
        if sign.total == 0:
            self.lists[resource] = ()
            return ListDevices(resource, ())
        which = f"{told} of {sign.total} devices of {resource} are healthy" if sign.healthy is not None else ""
        which = which or f"{resource} has {sign.total} devices"
        text = f"{sign.stamp}: {which}, and the log does not tell which; the list stays as it was"
        self.notes.append(Note(UNPLAYED, resource, text))
        return None

    def note_unknown(self, resource: str) -> None:
        if resource and resource not in self.unknown:
            self.unknown.add(resource)
            text = "a plugin registered, and the log does not tell its devices; give them with --device"
            self.notes.append(Note(UNPLAYED, resource, text))

    def at_start(self, first: set[str], late: set[str], now: int = 0) -> tuple[PluginsAt, list[Event]]:
        """How plugins met a kubelet that started: before it admitted pods, soon after that.

        What the word for a start cannot say is done by plugins that end while the kubelet is down.
        """
        ours = set(self.lists)
        for resource in sorted((first | late) - ours):
            self.note_unknown(resource)
        first, late = first & ours, late & ours
        before = self.connected if self.seen else ours
        self.connected = set()
        self.away = dict.fromkeys(sorted(ours & self.seen), now)
        if first == ours or not ours:
            self.connect(sorted(first))
            return "first", []
        if late == ours:
            self.connect(sorted(late))
            return "late", []
        if not first:
            return "never", []
        self.connect(sorted(first))
        return "first", [StopPlugin(resource) for resource in sorted(before - first)]
