"""The plugins of one source of devices, each registered for itself, until it is told to stop."""

import asyncio
import signal
from collections.abc import Callable, Sequence
from pathlib import Path

from numafit.cluster.device.offer import ResourceOffer, with_lost
from numafit.cluster.device.plugin import DevicePlugin
from numafit.cluster.device.registration import Registration, Say
from numafit.cluster.device.socket import own_socket, require_unused
from numafit.cluster.device.source.source import DeviceSource
from numafit.errors import InputError


def serve_devices(source: DeviceSource, folder: Path, seconds: float, say: Say) -> None:
    """Until SIGTERM or Ctrl-C; looks at the devices each so many seconds. Raises InputError when it cannot begin."""

    async def until_told() -> None:
        stop = asyncio.Event()
        loop = asyncio.get_running_loop()
        for number in (signal.SIGINT, signal.SIGTERM):
            loop.add_signal_handler(number, stop.set)
        await serve_until(stop, source, folder, seconds, say)

    asyncio.run(until_told())


async def serve_until(stop: asyncio.Event, source: DeviceSource, folder: Path, seconds: float, say: Say) -> None:
    if not folder.is_dir():
        cure = "the kubelet makes it; is this a node, and is the folder mounted?"
        raise InputError("there is no such folder", source=str(folder), cure=cure)
    board = _Plugins(folder.absolute(), say)
    try:
        offers = await _first_offers(stop, source, seconds, say)
        board.show(offers)
        while not stop.is_set():
            await _pause(stop, seconds)
            offers = await _next_offers(source, offers, board.complain)
            board.show(offers)
            board.require_alive()
    finally:
        await board.close()


async def _first_offers(
    stop: asyncio.Event, source: DeviceSource, seconds: float, say: Say
) -> tuple[ResourceOffer, ...]:
    """Where there may be none yet, it waits for them."""
    said = False
    while not stop.is_set():
        try:
            return await asyncio.to_thread(source.read)
        except InputError as error:
            if not source.waits:
                raise
            if not said:
                say(f"{error}; waiting for it")
            said = True
            await _pause(stop, seconds)
    return ()


async def _next_offers(
    source: DeviceSource, before: tuple[ResourceOffer, ...], complain: Callable[[str], None]
) -> tuple[ResourceOffer, ...]:
    """A source that cannot be read any more leaves things as they are, or makes all devices sick."""
    try:
        now = await asyncio.to_thread(source.read)
    except InputError as error:
        complain(str(error))
        return with_lost(before, ()) if source.lost_is_sick else before
    complain("")
    return with_lost(before, now) if source.lost_is_sick else now


async def _pause(stop: asyncio.Event, seconds: float) -> None:
    try:
        await asyncio.wait_for(stop.wait(), seconds)
    except TimeoutError:
        return


class _Plugins:
    def __init__(self, folder: Path, say: Say) -> None:
        self.folder = folder
        self.say = say
        self.complaint = ""
        self.running: dict[str, tuple[DevicePlugin, asyncio.Task[None]]] = {}
        self.ending: set[asyncio.Task[None]] = set()

    def complain(self, text: str) -> None:
        if text != self.complaint:
            self.say(text or "the devices can be read again")
        self.complaint = text

    def show(self, offers: Sequence[ResourceOffer]) -> None:
        offered = {offer.resource: offer for offer in offers}
        for resource in self.running.keys() - offered.keys():
            self.say(f"{resource}: is not offered any more")
            self.ending.add(asyncio.create_task(self._end(resource)))
        for resource, offer in offered.items():
            if resource in self.running:
                self._change(self.running[resource][0], offer)
            else:
                self._begin(offer)

    def require_alive(self) -> None:
        """A task that broke ends all: a plugin that looks alive and is not helps nobody."""
        for _, task in self.running.values():
            if task.done():
                task.result()

    async def close(self) -> None:
        await asyncio.gather(*(self._end(resource) for resource in list(self.running)), *self.ending)

    def _begin(self, offer: ResourceOffer) -> None:
        socket = own_socket(self.folder, offer.resource)
        require_unused(socket)
        plugin = DevicePlugin(offer, socket)
        task = asyncio.create_task(Registration(plugin, self.folder, self.say).keep())
        self.running[offer.resource] = plugin, task

    def _change(self, plugin: DevicePlugin, offer: ResourceOffer) -> None:
        before = {offered.device.id: offered.device.healthy for offered in plugin.offer.devices}
        for offered in offer.devices:
            device = offered.device
            if before.get(device.id, device.healthy) != device.healthy:
                state = "is healthy again" if device.healthy else "is not healthy any more"
                self.say(f"{offer.resource}: device {device.id} {state}")
        plugin.change(offer)

    async def _end(self, resource: str) -> None:
        found = self.running.pop(resource, None)
        if found is None:
            return
        plugin, task = found
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await plugin.stop()
