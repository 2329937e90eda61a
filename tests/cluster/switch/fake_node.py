"""A node in memory, with real files: its kubelet starts with every configuration that has no `refused` in it."""

import json
from pathlib import Path

from numafit.cluster.switch.drain import PodIdentity, PodOnNode, PodOwner
from numafit.cluster.switch.journal import Journal, SwitchOrder, new_journal
from numafit.errors import DisruptionBudgetError
from numafit.ledger.files.cpu import CpuFile, cpu_bytes
from numafit.ledger.state_files import CPU_FILE

OLD, NEW = '{"cpuManagerPolicy": "none"}\n', '{"cpuManagerPolicy": "static"}\n'
REFUSED = '{"cpuManagerPolicy": "static", "refused": true}\n'


class Killed(BaseException):
    """As SIGKILL: nobody has the time to do anything about it."""


class FakeNode:
    """Both sides of it: its API server and its kubelet's process."""

    def __init__(self, root: Path) -> None:
        self.root = root / "kubelet"
        self.root.mkdir()
        self.config = self.root / "config.yaml"
        self.config.write_text(OLD)
        self.config.chmod(0o640)
        self.cordoned = False
        self.process: int | None = None
        self.begun = 100
        self.evicted: list[str] = []
        self.held_back = 0
        """So often the budget does not let a pod go."""
        self.there = [PodOnNode(PodIdentity("a", uid="1", ownerReferences=(PodOwner("Job", "j", True),)))]
        self._start()

    # --- the kubelet

    def _policy(self) -> str:
        return str(json.loads(self.config.read_text())["cpuManagerPolicy"])

    def _start(self) -> None:
        state = self.root / CPU_FILE
        text = self.config.read_text()
        if "refused" in text or (state.exists() and json.loads(state.read_text())["policyName"] != self._policy()):
            return
        if not state.exists():
            state.write_text(cpu_bytes(CpuFile(self._policy(), "0-3"), "v2"))
        self.begun += 1
        self.process = self.begun

    async def stop(self, *, watched: bool) -> str:
        self.process = None
        return "stopped"

    async def start(self) -> str:
        if self.process is None:
            self._start()
        return "started"

    def number(self) -> int | None:
        return self.process

    # --- the API server

    async def pods(self) -> tuple[PodOnNode, ...]:
        return tuple(self.there)

    async def cordon(self, cordoned: bool) -> None:
        self.cordoned = cordoned

    async def evict(self, pod: PodOnNode) -> None:
        if self.held_back:
            self.held_back -= 1
            raise DisruptionBudgetError("the disruption budget b needs 1 healthy pod", status=429)
        self.evicted.append(pod.name)
        self.there.remove(pod)

    async def ready_since(self, begin: str) -> str:
        return "" if self.process is not None else "nothing was heard"

    # --- a switch of it

    def journal(
        self, new: str = NEW, *, keep_pods: bool = False, was_cordoned: bool = False, seconds: float = 30.0
    ) -> Journal:
        """`seconds`: for a drain."""
        order = SwitchOrder(
            begun="2026-11-16T10:00:00Z",
            node="n",
            release="1.36.4",
            config=str(self.config),
            kubelet_dir=str(self.root),
            new_config=new,
            old_config=OLD,
            stop_command="stop",
            start_command="start",
            keep_pods=keep_pods,
            moved=(CPU_FILE,),
            policies={CPU_FILE: "static"},
            was_cordoned=was_cordoned,
            process=self.process,
            drain_seconds=seconds,
            ready_seconds=30.0,
            settle_seconds=0.0,
        )
        return new_journal(self.root / "numafit-switch", order)

    def as_before(self) -> bool:
        return self.process is not None and self._policy() == "none" and self._state() == "none"

    def as_wanted(self) -> bool:
        return self.process is not None and self._policy() == "static" and self._state() == "static"

    def _state(self) -> str:
        return str(json.loads((self.root / CPU_FILE).read_text())["policyName"])
