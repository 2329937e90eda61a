"""Files of manifests to pods in the order in which a node gets them, with notes on what was left out.

`read_pods` is the door for one file, `read_files` for several that belong together. Files as people write them and
what `kubectl get -o yaml` prints may be mixed: pods that run come first, in the order in which they started, then
those to come, in the order of the files.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

import msgspec

from numafit.errors import InputError, some_of
from numafit.notes import Note
from numafit.workload.fields import TEMPLATES
from numafit.workload.manifest import Workload, read_workload
from numafit.workload.objects import FileObjects, Maker, ManifestFile, counted
from numafit.workload.pod import Pod
from numafit.workload.served import Life, is_over, life_of, owners_of, uid_of
from numafit.workload.standing import PriorityClasses, read_classes

LEFT_OUT = "pod-left-out"
REPLAYED = "pods-replayed"
SKIPPED = "kind-skipped"
UNBOUND = "pod-unbound"

MOST_NAMES = 5
"""Of nodes, in a sentence."""


class NodeChoice(NamedTuple):
    """Whose pods are meant where files have those of several nodes."""

    name: str = ""
    every: bool = False
    """All of them, as if they were on one node."""
    rejected: bool = False
    """Those that the kubelet has rejected come again."""
    likely: tuple[str, ...] = ()
    """Names that the node in question may have."""
    cure: str = "give the pods of one node"
    """What to do where it cannot be told."""
    again: str = ""
    """A pod by its name or namespace/name: where it has ended, it comes again."""
    added: frozenset[str] = frozenset()
    """Pods that come whatever has become of them, named in the same way."""
    object: str = ""
    """The name of the Node object that was given: pods of another node are not its own."""


ANY_NODE = NodeChoice()


class Reading(msgspec.Struct, frozen=True):
    running: tuple[Pod, ...]
    """Those on the node already, in the order in which they started."""
    coming: tuple[Pod, ...]
    makers: Mapping[str, Workload]
    """Pod UID -> the object that makes it."""
    ended: frozenset[str] = frozenset()
    """UIDs of pods that are over, and hold nothing."""
    notes: tuple[Note, ...] = ()
    """On what was left out; what is open of a pod itself stands in `Pod.unread`."""

    @property
    def pods(self) -> tuple[Pod, ...]:
        return self.running + self.coming


def read_pods(data: str | bytes, source: str = "", *, pod_level: bool = True, choice: NodeChoice = ANY_NODE) -> Reading:
    """Those of one file, defaulted and checked as the API server does it."""
    return read_files([ManifestFile(source, data)], pod_level=pod_level, choice=choice)


def read_files(
    files: Sequence[ManifestFile],
    *,
    pod_level: bool = True,
    choice: NodeChoice = ANY_NODE,
    most: int | None = None,
) -> Reading:
    """`pod_level`: the gate PodLevelResources is on. More than `most` pods are refused."""
    pages = [FileObjects(file) for file in files]
    if not any(page.makers for page in pages):
        raise _no_pod(pages)
    notices = _Notices()
    lives = _Lives(pages, choice, notices)
    pods = _Pods(most, notices)
    owners = _owners(pages)
    classes = read_classes([part for page in pages for part in page.classes])
    for page in pages:
        for maker in page.makers:
            if lives.leaves_out(maker) or _makes_others(maker, owners, notices):
                continue
            life = lives.of(maker)
            for workload in _workloads(maker, life, notices, page, pod_level=pod_level, classes=classes):
                pods.add(workload)
        _tell_skipped(page, notices)
    if not pods.makers:
        raise _nothing_left(notices)
    return Reading(pods.running(), tuple(pods.coming), pods.makers, frozenset(lives.ended), notices.notes())


def read_past(
    files: Sequence[ManifestFile], *, pod_level: bool = True, choice: NodeChoice = ANY_NODE, most: int | None = None
) -> Reading:
    """Every pod of these files, whatever has become of it: all are to come, in the order of the files."""
    pages = [FileObjects(file) for file in files]
    notices = _Notices()
    pods = _Pods(most, notices)
    classes = read_classes([part for page in pages for part in page.classes])
    nodes = Counter[str]()
    for page in pages:
        nodes.update(life_of(maker.part, maker.metadata).node for maker in page.makers if maker.is_pod)
    del nodes[""]
    node = "" if choice.every else _node_of(nodes, [name for page in pages for name in page.nodes], choice)
    for page in pages:
        for maker in page.makers:
            life = life_of(maker.part, maker.metadata) if maker.is_pod else None
            if life is not None and node and life.node not in ("", node):
                notices.add(LEFT_OUT, maker.title, f"is on the node {life.node}")
                continue
            for workload in _workloads(maker, life, notices, page, pod_level=pod_level, classes=classes):
                pods.add(msgspec.structs.replace(workload, life=Life(served=workload.life.served)))
        _tell_skipped(page, notices)
    return Reading((), tuple(pods.coming), pods.makers, notes=notices.notes())


def _no_pod(pages: Sequence[FileObjects]) -> InputError:
    seen = counted(sum((page.seen for page in pages), Counter[str]()))
    files = "this file" if len(pages) == 1 else "these files"
    message = f"there is no pod in {files}" + (f", only {seen}" if seen else "")
    source = pages[0].source if len(pages) == 1 else ""
    cure = f"kinds with pods are {', '.join(TEMPLATES)} and others with a pod template"
    return InputError(message, source=source, cure=cure)


def _nothing_left(notices: "_Notices") -> InputError:
    why = "; ".join(f"{note.about}: {note.text}" for note in notices.notes() if note.code == LEFT_OUT)
    return InputError("no pods to play" + (f"; {why}" if why else ""), cure="are files and replicas the right ones?")


PODS = "pods"
"""What a note is about that holds for several of them."""


class _Notices:
    """Notes, where equal ones on several pods that are left out are one."""

    def __init__(self) -> None:
        self.first: dict[tuple[str, str], tuple[str, int]] = {}
        self.own: list[Note] = []
        """On pods that are played: each by itself."""

    def add(self, code: str, about: str, text: str) -> None:
        first, before = self.first.get((code, text), (about, 0))
        self.first[code, text] = (first, before + 1)

    def notes(self) -> tuple[Note, ...]:
        folded = [
            Note(code, about, text) if count == 1 else Note(code, PODS, f"{about} and {count - 1} more: {text}")
            for (code, text), (about, count) in self.first.items()
        ]
        return (*folded, *self.own)


def _tell_skipped(page: FileObjects, notices: _Notices) -> None:
    if page.seen["LimitRange"]:
        text = "its LimitRange is left out: to pods of manifests the API server would add what it says"
        notices.add(SKIPPED, page.source, text)
    if page.unknown:
        text = f"left out, since no pod template was found in it: {counted(page.unknown)}"
        notices.add(SKIPPED, page.source, text)
    if page.virtual:
        text = f"left out, since KubeVirt makes the pod itself: {counted(page.virtual)}"
        notices.add(SKIPPED, page.source, text)


class _Lives:
    """Which pods of which node count.

    Those that were rejected count if somebody asks for them, or if there is nothing else to ask about.
    """

    def __init__(self, pages: Sequence[FileObjects], choice: NodeChoice, notices: _Notices) -> None:
        self.notices = notices
        self.ended: set[str] = set()
        self.lives = {
            id(maker): life_of(maker.part, maker.metadata) for page in pages for maker in page.makers if maker.is_pod
        }
        self.named = self._to_come_again(pages, {choice.again} - {""})
        self.added = self._to_come_again(pages, choice.added)
        alone = all(life.ended for life in self.lives.values())
        others = any(not maker.is_pod for page in pages for maker in page.makers)
        self.again = choice.rejected or (alone and not others)
        nodes = Counter(life.node for life in self.lives.values() if life.node and not self._is_over(life))
        self.node = "" if choice.every else _node_of(nodes, [name for page in pages for name in page.nodes], choice)
        self.unbound = self._unbound(pages)

    def _is_over(self, life: Life) -> bool:
        return life.ended and not (self.again and life.rejected)

    def of(self, maker: Maker) -> Life | None:
        """None for an object that makes pods."""
        return self.lives.get(id(maker))

    def leaves_out(self, maker: Maker) -> bool:
        life = self.of(maker)
        if life is None:
            if is_over(maker.part, maker.kind):
                self.notices.add(LEFT_OUT, maker.title, "has ended, and makes no pods any more")
                return True
        elif self.node and life.node and life.node != self.node:
            self.notices.add(LEFT_OUT, maker.title, f"is on another node than {self.node}")
            return True
        elif life.ended and maker.title in self.added:
            return False
        elif self._is_over(life) and maker.title not in self.named:
            self.ended.add(uid_of(maker.metadata))
            if life.rejected:
                why = f"was rejected by its kubelet ({life.reason}), and holds nothing (--rejected plays it again)"
            else:
                why = f"has ended ({life.phase}), and holds nothing"
            self.notices.add(LEFT_OUT, maker.title, why)
            return True
        elif life.ended:
            why = f"was rejected by its kubelet ({life.reason})" if life.rejected else f"has ended ({life.phase})"
            again = f"{why} and is played again, after those that run"
            self.notices.own.append(Note(REPLAYED, maker.title, again))
        elif id(maker) in self.unbound:
            text = "is bound to no node yet, and is played as if it came to this one"
            self.notices.own.append(Note(UNBOUND, maker.title, text))
        return False

    def _unbound(self, pages: Sequence[FileObjects]) -> set[int]:
        """Pods without a node in a list with pods that have one: nobody asked whether they would come here."""
        found: set[int] = set()
        for page in pages:
            lives = {id(maker): self.lives[id(maker)] for maker in page.makers if maker.is_pod}
            if any(life.node for life in lives.values()):
                found |= {key for key, life in lives.items() if life.served and not life.node}
        return found

    def _to_come_again(self, pages: Sequence[FileObjects], names: Set[str]) -> set[str]:
        """Titles of the pods of these names, but for those of which another one has taken the place."""
        pods = [maker for page in pages for maker in page.makers if maker.is_pod] if names else []
        there = {maker.title for maker in pods if not self.lives[id(maker)].ended}
        return {pod.title for pod in pods if names & {pod.title, pod.title.partition("/")[2]}} - there


def _node_of(nodes: Counter[str], objects: Sequence[str], choice: NodeChoice) -> str:
    """The node whose pods count; empty where no pod names one."""
    if choice.name:
        if nodes and choice.name not in nodes and choice.name not in objects:
            raise InputError(f"no pod is on the node {choice.name}; they are on {_listed(nodes)}", cure=choice.cure)
        return choice.name
    if len(nodes) < 2:
        return choice.object if nodes and choice.object else next(iter(nodes), "")
    told = [name for name in objects if name in nodes] if len(objects) == 1 else []
    for name in (*told, *choice.likely):
        if name in nodes:
            return name
    raise InputError(f"the pods are on {len(nodes)} nodes: {_listed(nodes)}", cure=choice.cure)


def _listed(nodes: Counter[str]) -> str:
    """With their numbers of pods, the one with most first."""
    return some_of([f"{name} ({count})" for name, count in nodes.most_common()], MOST_NAMES)


class _Owners(NamedTuple):
    with_pods: frozenset[str]
    """UIDs of the objects that made, directly or not, a pod of these files."""
    makers: frozenset[str]
    """UIDs of all objects that make pods."""


def _owners(pages: Sequence[FileObjects]) -> _Owners:
    above: dict[str, list[str]] = {}
    made: list[str] = []
    for page in pages:
        for maker in page.makers:
            owners = owners_of(maker.metadata)
            if maker.is_pod:
                made += owners
            else:
                above[maker.metadata.text("uid")] = owners
    reached: set[str] = set()
    while made:
        uid = made.pop()
        if uid not in reached:
            reached.add(uid)
            made += above.get(uid, ())
    return _Owners(frozenset(reached), frozenset(above) - {""})


def _makes_others(maker: Maker, owners: _Owners, notices: _Notices) -> bool:
    """The pods of this object stand for themselves in the files, or come from its owner."""
    if maker.is_pod:
        return False
    uid = maker.metadata.text("uid")
    if not uid:
        return False
    if any(owner in owners.makers for owner in owners_of(maker.metadata)):
        return True
    if uid in owners.with_pods:
        notices.add(LEFT_OUT, maker.title, "adds no pods: some that it made are given")
        return True
    return False


def _workloads(
    maker: Maker, life: Life | None, notices: _Notices, page: FileObjects, *, pod_level: bool, classes: PriorityClasses
) -> Iterator[Workload]:
    for template in maker.templates:
        try:
            workload = read_workload(
                maker.part,
                maker.kind,
                template,
                life=life,
                pod_level=pod_level,
                static=page.static,
                node=page.node,
                classes=classes,
            )
        except InputError as error:
            if not template.found:
                raise
            notices.add(SKIPPED, maker.title, f"what seemed a pod template is none: {error}")
            continue
        yield workload


class _Pods:
    """Takes in workloads; no pod comes twice."""

    def __init__(self, most: int | None, notices: _Notices) -> None:
        self.most = most
        self.notices = notices
        self.makers: dict[str, Workload] = {}
        self.started: list[tuple[Life, Pod]] = []
        self.coming: list[Pod] = []

    def add(self, workload: Workload) -> None:
        total = len(self.makers) + workload.count
        if self.most is not None and total > self.most:
            raise InputError(
                f"{total} pods with those of {workload.kind} {workload.name}",
                source=workload.source,
                cure=f"at most {self.most} are played; are the replicas right?",
            )
        for pod in workload.pods():
            if pod.uid not in self.makers:
                self.makers[pod.uid] = workload
                if workload.life.running:
                    self.started.append((workload.life, pod))
                else:
                    self.coming.append(pod)
            elif workload.life.served and self.makers[pod.uid].life.served:
                self.notices.add(LEFT_OUT, pod.full_name, "stands there twice, with one UID; the first one counts")
            else:
                raise InputError(
                    f"the pod {pod.full_name} comes twice", source=workload.source, cure="give it another name or uid"
                )

    def running(self) -> tuple[Pod, ...]:
        """By the time of their start, then of their creation, then by name."""
        ordered = sorted(self.started, key=lambda one: (*_times(one[0]), one[1].namespace, one[1].name))
        return tuple(pod for _, pod in ordered)


def _times(life: Life) -> tuple[str, str]:
    """A pod without a start is as old as its creation."""
    return life.started or life.created, life.created
