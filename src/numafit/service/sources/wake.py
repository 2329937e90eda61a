"""What makes the agent look at once: a process that held a lease ends, or Docker tells of a container."""

import asyncio
import os
from collections.abc import Iterable
from contextlib import suppress

from numafit.host.docker.engine import UNIX, engine_address
from numafit.host.docker.events import ContainerEvents
from numafit.host.lease import Lease

RETRY_SECONDS = 10.0
"""After Docker did not answer: it may be started later."""
SETTLE_SECONDS = 0.05
"""What happens together is looked at once."""


class Wake:
    """Made inside a running loop; `close` gives back what it watches."""

    def __init__(self) -> None:
        self._event = asyncio.Event()
        self._watched: dict[tuple[int, int], int] = {}
        """(process id, start time) -> the descriptor that becomes readable when the process ends."""
        self._ended_before: set[tuple[int, int]] = set()
        """One that nobody has reaped would wake again and again while its lease is still used by others."""
        self._docker = asyncio.create_task(self._follow_docker())

    async def wait(self, seconds: float) -> bool:
        """Whether something happened before the time was up."""
        try:
            async with asyncio.timeout(seconds):
                await self._event.wait()
        except TimeoutError:
            return False
        await asyncio.sleep(SETTLE_SECONDS)
        self._event.clear()
        return True

    def watch(self, leases: Iterable[Lease]) -> None:
        """The owners of these, and nobody else. Kernels before 5.3 cannot tell; then the sweep finds who is gone."""
        wanted = {(owner.pid, owner.start) for lease in leases for owner in lease.owners}
        self._ended_before &= wanted
        for owner in self._watched.keys() - wanted:
            self._forget(owner)
        for owner in wanted - self._watched.keys() - self._ended_before:
            with suppress(OSError):
                handle = os.pidfd_open(owner[0])
                self._watched[owner] = handle
                asyncio.get_running_loop().add_reader(handle, self._ended, owner)

    def close(self) -> None:
        self._docker.cancel()
        for owner in list(self._watched):
            self._forget(owner)

    def _ended(self, owner: tuple[int, int]) -> None:
        self._forget(owner)
        self._ended_before.add(owner)
        self._event.set()

    def _forget(self, owner: tuple[int, int]) -> None:
        handle = self._watched.pop(owner)
        asyncio.get_running_loop().remove_reader(handle)
        os.close(handle)

    async def _follow_docker(self) -> None:
        loop = asyncio.get_running_loop()
        while True:
            address = await asyncio.to_thread(engine_address)
            if address.startswith(UNIX):
                events = ContainerEvents(address)
                try:
                    await asyncio.to_thread(events.follow, lambda: loop.call_soon_threadsafe(self._event.set))
                finally:
                    events.close()
            await asyncio.sleep(RETRY_SECONDS)
