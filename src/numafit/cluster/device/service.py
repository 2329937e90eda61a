"""The plugins of one source of devices, each registered for itself, until it is told to stop."""

import asyncio
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from functools import partial
from pathlib import Path
from threading import Thread

from numafit.cluster.device.offer import ResourceOffer, with_lost
from numafit.cluster.device.plugin import DevicePlugin
from numafit.cluster.device.registration import Registration, Say
from numafit.cluster.device.socket import own_socket, require_unused
from numafit.cluster.device.source.source import DeviceSource
from numafit.cluster.kube.signals import stop_event
from numafit.errors import InputError

READ_SECONDS = 30.0
"""So long the devices may take to tell of themselves."""


def serve_devices(source: DeviceSource, folder: Path, seconds: float, say: Say) -> None:
    """Until SIGTERM or Ctrl-C; looks at the devices each so many seconds. Raises InputError when it cannot begin."""

    async def until_told() -> None:
        stop = stop_event()
        await serve_until(stop, source, folder, seconds, say)

    asyncio.run(until_told())


async def serve_until(stop: asyncio.Event, source: DeviceSource, folder: Path, seconds: float, say: Say) -> None:
    _require_folder(folder)
    work = asyncio.create_task(_serve(source, folder.absolute(), seconds, say))
    told = asyncio.create_task(stop.wait())
    await asyncio.wait({work, told}, return_when=asyncio.FIRST_COMPLETED)
    for task in (work, told):
        task.cancel()
    with suppress(asyncio.CancelledError):
        await work


def _require_folder(folder: Path) -> None:
    try:
        there = folder.is_dir()
    except OSError:
        there = True
    if not there:
        cure = "the kubelet makes it; is this a node, and is the folder mounted?"
        raise InputError("there is no such folder", source=str(folder), cure=cure)
    if not os.access(folder, os.W_OK | os.X_OK):
        raise InputError("no socket can be made here", source=str(folder), cure="run it as root")


async def _serve(source: DeviceSource, folder: Path, seconds: float, say: Say) -> None:
    reader = _Reader(source)
    board = _Plugins(folder, say)
    try:
        offers = await _first_offers(reader, seconds, say)
        board.show(offers)
        while True:
            await asyncio.sleep(seconds)
            board.require_alive()
            offers, trouble = await _next_offers(reader, offers)
            try:
                board.show(offers)
            except InputError as error:
                trouble = trouble or str(error)
            board.complain(trouble)
    finally:
        await board.close()


async def _first_offers(reader: "_Reader", seconds: float, say: Say) -> tuple[ResourceOffer, ...]:
    """Where there may be none yet, it waits for them."""
    said = ""
    while True:
        try:
            return await reader.read()
        except InputError as error:
            if not reader.source.waits:
                raise
            if str(error) != said:
                said = str(error)
                say(f"{said}; waiting for it")
            await asyncio.sleep(seconds)


async def _next_offers(reader: "_Reader", before: tuple[ResourceOffer, ...]) -> tuple[tuple[ResourceOffer, ...], str]:
    """And what is wrong: a source that cannot be read any more leaves things as they are, or makes all devices sick."""
    sick = reader.source.lost_is_sick
    try:
        now = await reader.read()
    except InputError as error:
        return with_lost(before, ()) if sick else before, str(error)
    return with_lost(before, now) if sick else now, ""


class _Reader:
    """Reads in a thread that nobody waits for at the end: a sick driver can keep it for ever."""

    def __init__(self, source: DeviceSource) -> None:
        self.source = source
        self._pending: asyncio.Future[tuple[ResourceOffer, ...]] | None = None

    async def read(self) -> tuple[ResourceOffer, ...]:
        """Raises InputError, also when it takes too long; then the same reading is waited for again."""
        if self._pending is None:
            self._pending = asyncio.get_running_loop().create_future()
            Thread(target=self._work, args=(asyncio.get_running_loop(), self._pending), daemon=True).start()
        done, _ = await asyncio.wait({self._pending}, timeout=READ_SECONDS)
        if not done:
            raise InputError(f"the devices did not answer in {READ_SECONDS:g} seconds")
        found, self._pending = self._pending, None
        return found.result()

    def _work(self, loop: asyncio.AbstractEventLoop, pending: asyncio.Future[tuple[ResourceOffer, ...]]) -> None:
        tell: Callable[[], None]
        try:
            tell = partial(pending.set_result, self.source.read())
        except Exception as error:
            # Whatever it is, the one who waits for the reading is told; a thread has nobody else.
            tell = partial(pending.set_exception, error)
        # The loop may be closed by now.
        with suppress(RuntimeError):
            loop.call_soon_threadsafe(tell)


class _Plugins:
    def __init__(self, folder: Path, say: Say) -> None:
        self.folder = folder
        self.say = say
        self.complaint = ""
        self.running: dict[str, tuple[DevicePlugin, asyncio.Task[None]]] = {}
        self.ending: set[asyncio.Task[None]] = set()

    def complain(self, text: str) -> None:
        if text != self.complaint:
            self.say(text or "all is well again")
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
