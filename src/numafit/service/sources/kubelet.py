"""The node of a kubelet as a source: its state files are watched, and what changes in them is told.

The kubelet keeps who it has admitted, not why: a decision is seen here only by what it left in the files. They name
pods by UID; the folders of the pods' logs tell the names, where they can be read.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator, Mapping
from pathlib import Path

from msgspec.structs import replace

from numafit.decision.held import holdings
from numafit.decision.stage import Stage
from numafit.decision.start import again, start
from numafit.decision.written import as_written
from numafit.errors import StartError
from numafit.host.meter import Meter
from numafit.ledger.state_files import DEVICE_FILE, STATE_FILES, read_state_files, state_path
from numafit.machine.model import Machine
from numafit.service.node import Change, ShownNode
from numafit.service.sources.holders import Holders, came, gone, holders_of
from numafit.settings.facts import NO_FACTS, NodeFacts
from numafit.show.records.ledger import Known
from numafit.show.records.time import now_text

SECONDS = 1.0
"""Between two looks at the files."""
TRIES = 3
"""The files are written one after the other: read in between they may not fit together."""
POD_LOGS = Path("/var/log/pods")
"""Its folders are called `namespace_name_uid`."""

Stamp = tuple[tuple[int, int, int] | None, ...]


class KubeletNode:
    def __init__(
        self,
        folder: Path,
        machine: Machine,
        kubelet: str,
        version: str,
        pod_logs: Path = POD_LOGS,
        facts: NodeFacts = NO_FACTS,
        name: str = "",
        meter: Meter | None = None,
    ) -> None:
        """`name` is the title, where it is not the Node's; `meter` where the machine is this one."""
        self.folder = folder
        self.pod_logs = pod_logs
        self.leases = None
        self.meter = meter
        self.place = ShownNode(machine, name or facts.name or str(folder), "kubelet", kubelet, version, facts=facts)
        self.idle = self.place.stage()
        self.known: dict[str, Known] = {}
        self.holders: Holders = {}
        self.first = True

    async def changes(self) -> AsyncIterator[Change]:
        seen: Stamp | None = None
        while True:
            stamp = self._stamp()
            if stamp != seen:
                stage, warning = await self._read()
            if stamp != seen or self._can_name():
                seen = stamp
                for change in self._since_last(stage):
                    yield replace(change, warning=warning)
            await asyncio.sleep(SECONDS)

    def _paths(self) -> dict[str, Path]:
        return {name: state_path(self.folder, name) for name in STATE_FILES}

    def _stamp(self) -> Stamp:
        return tuple(_stamp_of(path) for path in self._paths().values())

    async def _read(self) -> tuple[Stage, str]:
        """The node, and what a kubelet that starts now would say against its state."""
        message = ""
        for attempt in range(TRIES):
            if attempt:
                await asyncio.sleep(SECONDS / 2)
            files = read_state_files(self.folder)
            try:
                started = start(again(self.idle.node, files))
            except StartError as error:
                message = f"a kubelet would not start over this state: {error.message}"
                continue
            unread = started.device_state[1]
            if not unread:
                return replace(self.idle, ledger=started.ledger), ""
            message = f"a kubelet that starts now would forget which devices are held: {DEVICE_FILE}: {unread}"
        warning = f"{self.folder}: {message} (`numafit doctor` says more)"
        return replace(self.idle, ledger=as_written(self.idle.node, files, str(self.folder))), warning

    def _since_last(self, stage: Stage) -> Iterator[Change]:
        """One change for each pod that came, went or holds something else now; at first one for all."""
        now = None if self.first else now_text()
        names = self._names()
        self.known = {
            uid: replace(self.known.get(uid) or Known(uid, now), name=names.get(uid, uid))
            for uid in stage.ledger.active
        }
        stage = _with_names(stage, names)
        before, self.holders = self.holders, holders_of(self.known, holdings(stage.node, stage.ledger))
        if self.first:
            self.first = False
            yield Change(stage, self.known)
            return
        happened = [*gone(before, self.holders), *came(before, self.holders)]
        for each in happened:
            yield Change(stage, self.known, each)
        if not happened:
            yield Change(stage, self.known)

    def _can_name(self) -> bool:
        """The folder of a pod's logs is made after its state was written."""
        nameless = {uid for uid, one in self.known.items() if one.name == uid}
        return bool(nameless) and not nameless.isdisjoint(self._names())

    def _names(self) -> dict[str, str]:
        """UID -> namespace/name."""
        names: dict[str, str] = {}
        try:
            entries = [entry.name for entry in self.pod_logs.iterdir()]
        except OSError:
            return names
        for entry in entries:
            parts = entry.split("_")
            if len(parts) == 3:
                names[parts[2]] = f"{parts[0]}/{parts[1]}"
        return names


def _with_names(stage: Stage, names: Mapping[str, str]) -> Stage:
    """Stories call a holder by the name of its pod."""
    active = dict(stage.ledger.active)
    for uid in active.keys() & names.keys():
        namespace, _, name = names[uid].partition("/")
        active[uid] = replace(active[uid], namespace=namespace, name=name)
    return replace(stage, ledger=replace(stage.ledger, active=active))


def _stamp_of(path: Path) -> tuple[int, int, int] | None:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_mtime_ns, found.st_size, found.st_ino
