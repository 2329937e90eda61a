"""What must be true all the time: nothing is held twice, and no pod that runs loses what it holds."""

import threading
from collections import Counter
from collections.abc import Mapping
from pathlib import Path

from tests.kube.agent import Agent
from tests.kube.api import Api, Json
from tests.kube.chaos.holdings import Holdings, in_folder, needs_cpus
from tests.kube.chaos.load import FAILURES, SHORT

PAUSE = 0.7


class Watch(threading.Thread):
    """`api` is its own."""

    def __init__(self, api: Api, folders: Mapping[str, Path], agent: Agent) -> None:
        super().__init__(daemon=True)
        self._api, self._folders, self._agent = api, folders, agent
        self._ending = threading.Event()
        self._held: dict[tuple[str, str], tuple[frozenset[str], frozenset[str]]] = {}
        self._compared: dict[int, dict[str, int]] = {}
        """Process of the agent -> what it has counted."""
        self._ran: set[str] = set()
        """UIDs of pods that have been seen to run."""
        self.looks = 0
        self.violations: set[str] = set()
        self.pods: set[str] = set()
        self.rejected: dict[str, str] = {}
        """UID -> reason."""
        self.error: BaseException | None = None

    def run(self) -> None:
        try:
            while not self._ending.wait(PAUSE):
                self.look()
        except BaseException as error:
            self.error = error
            raise

    def end(self) -> None:
        self._ending.set()
        self.join()
        if self.error is not None:
            raise self.error

    def look(self) -> None:
        self._count_decisions()
        before = self._running()
        files = {node: in_folder(folder) for node, folder in self._folders.items()}
        after = self._running()
        for node, found in files.items():
            if found is not None:
                self.violations.update(f"{node}: {each}" for each in found.twice())
        # One that came or went between the two looks may stand in the files or not.
        for uid in before.keys() & after.keys():
            self._keeps(after[uid], files)
        self.looks += bool(before and after)

    def _keeps(self, pod: Json, files: Mapping[str, Holdings | None]) -> None:
        node, uid = pod["spec"]["nodeName"], pod["metadata"]["uid"]
        found = files.get(node)
        if found is None:
            return
        own = found.cpus.get(uid, frozenset()), found.devices.get(uid, frozenset())
        name = f"{node}: {pod['metadata']['name']} ({uid})"
        if needs_cpus(pod) and not own[0]:
            self.violations.add(f"{name} runs and has no CPUs of its own")
        was = self._held.setdefault((node, uid), own)
        if own != was:
            self.violations.add(f"{name} runs with {_text(own)} and had {_text(was)}")

    def _running(self) -> dict[str, Json]:
        """UID -> those that run, are to stay and do not end by themselves; none where nobody answers."""
        try:
            listed = self._api.pods().values()
        except FAILURES:
            return {}
        for pod in listed:
            uid = pod["metadata"]["uid"]
            self.pods.add(uid)
            reason = pod["status"].get("reason")
            if reason and pod["status"].get("phase") == "Failed":
                self.rejected[uid] = reason
                if uid in self._ran:
                    told = (
                        f"{pod['spec']['nodeName']}: {pod['metadata']['name']} ({uid}) ran and was rejected: {reason}"
                    )
                    self.violations.add(told)
            elif pod["status"].get("phase") == "Running":
                self._ran.add(uid)
        return {pod["metadata"]["uid"]: pod for pod in listed if _stays(pod)}

    # --- what the agent has compared ----------------------------------------------------------------------------------

    def _count_decisions(self) -> None:
        process = self._agent.process
        try:
            if process is not None and process.poll() is None:
                self._compared[process.pid] = self._agent.decisions()
        except (OSError, IndexError, ValueError):
            # it is being killed, or does not listen yet
            return

    @property
    def decisions(self) -> Counter[str]:
        total: Counter[str] = Counter()
        for each in self._compared.values():
            total.update(each)
        return total


def _stays(pod: Json) -> bool:
    short = SHORT in pod["metadata"].get("labels", {})
    return pod["status"].get("phase") == "Running" and "deletionTimestamp" not in pod["metadata"] and not short


def _text(held: tuple[frozenset[str], frozenset[str]]) -> str:
    return ", ".join(sorted(held[0]) + sorted(held[1])) or "nothing"
