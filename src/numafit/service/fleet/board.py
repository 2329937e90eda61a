"""What is shown of the fleet now; listeners are told what has changed, at most once a second."""

import asyncio

import msgspec

from numafit.cluster.live.fleet import LiveChange, LiveFleet
from numafit.service.broadcast import Broadcast, event_bytes
from numafit.service.fleet.tiles import loops_of, tile_of, totals_of, waiting_of
from numafit.show.records.agent import Doubt
from numafit.show.records.fleet_board import FleetUpdate, FleetView, NodeTile, RejectedOwner, WaitingTile
from numafit.show.records.time import now_text

PACE_SECONDS = 1.0


class FleetBoard:
    def __init__(self, live: LiveFleet) -> None:
        self.live = live
        self.broadcast = Broadcast()
        self.problem = ""
        """Why the cluster cannot be followed at the moment."""
        self.ready = False
        self.revision = 0
        self.requests: dict[str, int] = {}
        self.tiles: dict[str, NodeTile] = {}
        self.waiting: tuple[WaitingTile, ...] = ()
        self.loops: tuple[RejectedOwner, ...] = ()
        self.time = now_text()
        self._changed: set[str] = set()
        """Nodes to look at again."""
        self._pods = False
        self._wake = asyncio.Event()
        self._encoded = b""
        live.listen(self._heard)

    async def run(self) -> None:
        """Until it is cancelled."""
        await self.live.synced.wait()
        self._changed, self._pods = set(self.live.nodes), True
        self.ready = True
        self.update()
        # Who listened before has nothing that a change could be laid over.
        self.broadcast.send("whole", self.view(), self.revision)
        while True:
            await asyncio.sleep(PACE_SECONDS)
            await self._wake.wait()
            self._wake.clear()
            self.update()

    async def watch(self) -> None:
        """Until it is cancelled: whether the API server answers is looked at, since then nothing is heard."""
        while True:
            self.doubt(self.live.problem)
            await asyncio.sleep(PACE_SECONDS)

    def doubt(self, problem: str) -> None:
        """Listeners are told, so that a picture which stands still does not look alive; empty: all is well again."""
        if problem != self.problem:
            self.problem = problem
            self.broadcast.send("problem", msgspec.json.encode(Doubt(problem)), self.revision, with_id=False)

    def _heard(self, change: LiveChange) -> None:
        if change.kind == "node":
            self._changed.add(change.name)
        else:
            self._pods = True
            if change.pod is not None and change.pod.node:
                self._changed.add(change.pod.node)
            # An offer counts on nodes that no change tells of.
            self._changed.update(change.pod.offered if change.pod is not None else ())
        self._wake.set()

    def update(self) -> None:
        """Looks at what may have changed, and tells what has."""
        names, self._changed = self._changed, set()
        nodes, gone = self._looked_at(names)
        waiting, loops = None, None
        if self._pods:
            self._pods = False
            told = waiting_of(self.live.pods.values()), loops_of(self.live.failed.values(), self.live.pods.values())
            waiting = told[0] if told[0] != self.waiting else None
            loops = told[1] if told[1] != self.loops else None
            self.waiting, self.loops = told
        if not (nodes or gone or waiting is not None or loops is not None):
            return
        self.revision += 1
        self.time, self._encoded = now_text(), b""
        totals = totals_of(self.tiles, len(self.waiting))
        update = FleetUpdate(self.revision, self.time, totals, tuple(nodes), tuple(gone), waiting, loops)
        self.broadcast.send("fleet", msgspec.json.encode(update), self.revision)

    def _looked_at(self, names: set[str]) -> tuple[list[NodeTile], list[str]]:
        live, nodes, gone = self.live, [], []
        for name in sorted(names):
            node = live.nodes.get(name)
            if node is None:
                if self.tiles.pop(name, None) is not None:
                    gone.append(name)
                continue
            tile = tile_of(node, live.fleet.nodes.get(name), live.troubles.get(name, ""))
            if tile != self.tiles.get(name):
                self.tiles[name] = tile
                nodes.append(tile)
        return nodes, gone

    def view(self) -> bytes:
        """All of it, encoded once for each revision."""
        if not self._encoded:
            totals, tiles = totals_of(self.tiles, len(self.waiting)), sorted(self.tiles.items())
            nodes = tuple(tile for _, tile in tiles)
            view = FleetView(self.revision, self.time, totals, nodes, self.waiting, self.loops)
            self._encoded = msgspec.json.encode(view)
        return self._encoded

    def first(self) -> list[bytes]:
        """For who has seen nothing: everything."""
        return [event_bytes("whole", self.view(), self.broadcast.event_id(self.revision))] if self.ready else []
