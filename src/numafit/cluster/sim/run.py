"""The front door: nodes of a file, played on a cluster until somebody says stop."""

import asyncio
import gc
from collections.abc import Callable, Sequence
from pathlib import Path

import msgspec

from numafit.cluster.kube.access import Access
from numafit.cluster.kube.api import KubeApi
from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.sim.file import SimulatedGroup
from numafit.cluster.sim.fleet import ServeSockets, SimulatedFleet
from numafit.cluster.sim.group import simulated_nodes

CONNECTIONS = 32
LAST_SECONDS = 3.0
"""For what is still to be told when it ends."""


class FleetOptions(msgspec.Struct, frozen=True):
    state: Path | None = None
    """Where each node has a folder like /var/lib/kubelet."""
    remove: bool = False
    """The nodes are taken out of the cluster at the end."""
    sockets: ServeSockets | None = None
    """For groups that are to have them."""


async def play_nodes(
    access: Access,
    groups: Sequence[SimulatedGroup],
    options: FleetOptions,
    stop: asyncio.Event,
    ready: Callable[[], None],
    warn: Callable[[str], None],
) -> None:
    """Until `stop` is set. `ready` is called once all nodes are; `warn` gets sentences."""
    nodes = tuple(simulated_nodes(groups, options.state))
    async with KubeApi(access, connections=CONNECTIONS) as api:
        fleet = SimulatedFleet(api, nodes, ApiHealth(), warn, options.sockets)
        # Thousands of values live as long as the process: nobody need look through them again and again.
        gc.collect()
        gc.freeze()
        work, told = asyncio.create_task(fleet.run(ready)), asyncio.create_task(stop.wait())
        try:
            await asyncio.wait({work, told}, return_when=asyncio.FIRST_COMPLETED)
            if not work.done():
                await fleet.writer.drained(LAST_SECONDS)
        finally:
            for task in (work, told):
                task.cancel()
            await asyncio.wait({work, told})
        if options.remove:
            await fleet.heartbeat.remove()
        if not work.cancelled():
            _raise_first(work.exception())


def _raise_first(error: BaseException | None) -> None:
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    if error is not None and not isinstance(error, asyncio.CancelledError):
        raise error
