"""Choices that fall as a run saw them, as far as it tells: which devices were given, who of static pods came first,
which resource of a container failed first."""

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any

import msgspec

from numafit.ledger.state_files import DEVICE_FILE
from numafit.managers.protocol import Choices
from numafit.replay.outcomes import Json
from numafit.workload.pod import Pod

_RESOURCE = re.compile(r"[\w.-]+/[\w.-]*\w")
ANSWERS = 1000
"""How many answers of a plugin are looked at for the one that was seen."""

GivenDevices = Mapping[tuple[str, str], frozenset[str]]
"""(container, resource) -> the ids that containers of this name were given."""


class SeenChoices(Choices):
    """`failed` is the resource that a refusal names, `held` what those have who were decided upon. `backwards`: what is
    stale goes from the last to the first; a run does not tell."""

    def __init__(
        self,
        given: GivenDevices,
        order: Sequence[str] = (),
        failed: str = "",
        held: GivenDevices | None = None,
        *,
        backwards: bool = False,
    ) -> None:
        self.backwards = backwards
        self.given = given
        self.failed = failed
        self.held = held or {}
        self.order = {uid: place for place, uid in enumerate(order)}

    def devices(self, container: str, resource: str, candidates: Iterable[str], count: int) -> Sequence[str]:
        given = self.given.get((container, resource), frozenset())
        return sorted(candidates, key=lambda device: (device not in given, device))

    def preferred(self, container: str, resource: str, answers: Iterator[tuple[str, ...]]) -> tuple[str, ...]:
        given = self.given.get((container, resource), frozenset())
        first: tuple[str, ...] | None = None
        for answer in islice(answers, ANSWERS):
            first = answer if first is None else first
            if given.issuperset(answer):
                return answer
        return first or ()

    def resources(self, container: str, names: Iterable[str]) -> Sequence[str]:
        """Those that were given come first, also to one that was refused for another."""
        return sorted(names, key=lambda name: ((container, name) not in self.held, name != self.failed, name))

    def stale(self, containers: Iterable[tuple[str, str]]) -> Sequence[tuple[str, str]]:
        return sorted(containers, reverse=self.backwards)

    def pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        return sorted(pods, key=lambda pod: self.order.get(pod.uid, len(self.order)))


def given_at(expected: Sequence[Json | None], number: int, uids: Collection[str] | None = None) -> GivenDevices:
    """By the next device file that was seen, at this event or after it; to these pods only, where they are told."""
    for entry in expected[number:]:
        content: Any = ((entry or {}).get("files") or {}).get(DEVICE_FILE)
        if content is None:
            continue
        read: Json = msgspec.json.decode(content) if isinstance(content, str) else content
        given: dict[tuple[str, str], frozenset[str]] = {}
        for held in read["Data"]["PodDeviceEntries"] or ():
            if uids is not None and held["PodUID"] not in uids:
                continue
            key = held["ContainerName"], held["ResourceName"]
            ids = frozenset(device for own in held["DeviceIDs"].values() for device in own)
            given[key] = given.get(key, frozenset()) | ids
        return given
    return {}


def failed_at(entry: Json) -> list[str]:
    """The resources that refusals name: of several that a container could not get, the kubelet names the one that it
    came to first, in the order of a map."""
    refused = [each for each in entry.get("decisions") or () if not each["admitted"]]
    named = [name for each in refused for name in _RESOURCE.findall(each.get("message") or "")]
    return list(dict.fromkeys(named))


def orders_of(entry: Json) -> Iterator[tuple[str, ...]]:
    """UIDs in the orders that may lead to what was seen at a start.

    Those that were refused came as they are listed; of the others it is not known between which of them they came.
    """
    decisions = [each for each in entry.get("decisions") or () if each["kind"] == "admission"]
    refused = [each["uid"] for each in decisions if not each["admitted"]]
    admitted = [each["uid"] for each in decisions if each["admitted"]]
    for places in product(range(len(refused) + 1), repeat=len(admitted)):
        order: list[str] = []
        for place in range(len(refused) + 1):
            order += [uid for uid, own in zip(admitted, places, strict=True) if own == place]
            order += refused[place : place + 1]
        yield tuple(order)
