"""The pods of manifests, by the names and UIDs that a log or an API server gives them."""

from collections.abc import Iterable, Sized

from msgspec.structs import replace

from numafit.advice.past.past import UNKNOWN_POD, UNPLAYED
from numafit.advice.past.signs import API_SOURCE as API
from numafit.errors import some_of
from numafit.notes import Note
from numafit.workload.pod import Pod

_MOST_NAMES = 5


class KnownPods:
    def __init__(self, pods: Iterable[Pod]) -> None:
        self.node = ""
        """The name of the node, which the kubelet hangs on the names of static pods."""
        self.named: dict[str, list[Pod]] = {}
        self.comings: dict[str, int] = {}
        self.used: set[str] = set()
        self.missing: dict[str, None] = {}
        for pod in pods:
            self.named.setdefault(pod.full_name, []).append(pod)

    def coming(self, name: str, source: str, uid: str = "") -> Pod | None:
        """The pod of this name that comes now; a second one has another UID, as the API server gives it."""
        manifests = self._manifests(name, static=source != API)
        if not manifests:
            self.missing[name] = None
            return None
        self.used.add(manifests[0].full_name)
        own = next((pod for pod in manifests if uid and pod.uid == uid), None)
        times = self.comings[name] = self.comings.get(name, 0) + 1
        pod = own or manifests[min(times, len(manifests)) - 1]
        if source != API:
            return pod if pod.static else replace(pod, static=True)
        if own is None and times > len(manifests):
            pod = pod.coming_again(times)
        return pod

    def is_mirror(self, name: str) -> bool:
        """The API server's copy of a static pod, which the kubelet does not admit."""
        return any(pod.static for pod in self.named.get(name, ()))

    def _manifests(self, name: str, *, static: bool) -> list[Pod]:
        if name in self.named or not static:
            return self.named.get(name, [])
        if self.node and name.endswith(f"-{self.node}"):
            return self.named.get(name.removesuffix(f"-{self.node}"), [])
        ends = [own for own in self.named if name.startswith(f"{own}-")]
        return self.named[max(ends, key=len)] if ends and not self.node else []

    def notes(self, source: str) -> list[Note]:
        notes = []
        if self.missing:
            text = f"no manifest was given for {_those(self.missing)}, and nothing of it is played"
            notes.append(Note(UNKNOWN_POD, source, f"{text}: {some_of(list(self.missing), _MOST_NAMES)}"))
        untold = [name for name in self.named if name not in self.used]
        if untold:
            text = f"{_those(untold)} was given, and nothing is told of it"
            notes.append(Note(UNPLAYED, source, f"{text}: {some_of(untold, _MOST_NAMES)}"))
        return notes


def _those(names: Sized) -> str:
    return "this pod" if len(names) == 1 else f"each of these {len(names)} pods"
