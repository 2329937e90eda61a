"""A node's past: a kubelet's log, or objects of an API server in a file or folder, known by what stands in it."""

import re
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path

from msgspec.structs import replace

from numafit.advice.past.log import past_of_log
from numafit.advice.past.objects import past_of_objects
from numafit.advice.past.past import UNPLAYED, Past, choices_of
from numafit.advice.past.signs import read_signs
from numafit.cli.files import read_bytes
from numafit.cli.options.node import NodeOptions
from numafit.cli.options.stage import load_stage, with_folder
from numafit.decision.history.event import AddPods
from numafit.decision.history.situation import Situation, without_plugins
from numafit.decision.simulation import Simulation, play_events
from numafit.decision.stage import Stage
from numafit.errors import InputError
from numafit.machine.model import Device
from numafit.notes import Note
from numafit.settings.versions import LATEST_PATCH, KubeVersion, parse_version
from numafit.workload.objects import ManifestFile
from numafit.workload.pod import Pod

_OBJECT = re.compile(rb'^[\s{-]*"?(apiVersion|kind)"?\s*:', re.MULTILINE)
_FIRST_LOOK = 1 << 16


def load_past(options: NodeOptions, path: Path) -> tuple[Stage, Past]:
    """The node as it was at the beginning, and what happened to it."""
    if str(path) != "-" and (path.is_dir() or _holds_objects(path)):
        return _past_of_folder(options, path)
    try:
        if str(path) == "-":
            log = read_signs(sys.stdin.buffer, "standard input")
        else:
            with path.open("rb") as stream:
                log = read_signs(stream, str(path))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    if not options.release()[1] and log.release:
        options = replace(options, kube_version=log.release)
    stage = _with_residents(load_stage(options, idle=True, past=True))
    past = past_of_log(log, stage.pods, devices_of(stage), tuple(stage.ledger.active.values()))
    return stage, replace(past, notes=(*past.notes, *_other_release(log.release, stage.node.settings.version)))


def _other_release(logged: str, played: KubeVersion) -> Iterator[Note]:
    """A patch that nobody named is none that differs."""
    try:
        known = parse_version(logged) if logged else played
    except InputError:
        # Who named another one knows why.
        return
    if known[:2] != played[:2] or (played.patch != LATEST_PATCH and known != played):
        text = f"the log is that of a kubelet {known}, and is played with {played}"
        yield Note(UNPLAYED, "kubelet", text)


def _with_residents(stage: Stage) -> Stage:
    """Pods of state files are there from the beginning, as their manifests have them."""
    active = stage.ledger.active
    given = {pod.uid: pod for pod in stage.pods}
    there = {uid: given.get(uid, pod) for uid, pod in active.items()}
    pods = tuple(pod for pod in stage.pods if pod.uid not in active)
    return replace(stage, ledger=replace(stage.ledger, active=there), pods=pods)


def _past_of_folder(options: NodeOptions, path: Path) -> tuple[Stage, Past]:
    """The folder may bring its machine, its kubelet and its Node along, as one of PODS may."""
    options = with_folder(replace(options, pods=(path, *options.pods)))
    stage = load_stage(options, idle=True, past=True)
    files = [ManifestFile(str(own), read_bytes(own)) for own in options.pods]
    if options.node_object is not None:
        files.append(ManifestFile(str(options.node_object), read_bytes(options.node_object)))
    return stage, past_of_objects(files, str(path), stage.pods)


def _holds_objects(path: Path) -> bool:
    try:
        with path.open("rb") as file:
            head = file.read(_FIRST_LOOK)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=str(path)) from error
    return _OBJECT.search(head) is not None


def played(stage: Stage, past: Past, pods: Iterable[Pod] = ()) -> Simulation:
    """The past, and `pods` that come after it."""
    events = [*past.events, *(AddPods((pod,)) for pod in pods)]
    return play_events(beginning(stage, past), events, choices_of(past))


def played_log(stage: Stage, path: Path, pods: Sequence[Pod]) -> tuple[Simulation, tuple[Note, ...]]:
    """What a log tells of a node, then those of `pods` that it does not tell of, in their order."""
    with path.open("rb") as stream:
        log = read_signs(stream, str(path))
    past = past_of_log(log, stage.pods, devices_of(stage), tuple(stage.ledger.active.values()))
    came = {pod.full_name for event in past.events if isinstance(event, AddPods) for pod in event.pods}
    notes = tuple(note for note in past.notes if note.about != log.name)
    return played(stage, past, [pod for pod in pods if pod.full_name not in came]), notes


def beginning(stage: Stage, past: Past) -> Situation:
    return without_plugins(stage.situation, past.absent)


def devices_of(stage: Stage) -> dict[str, tuple[Device, ...]]:
    found: dict[str, tuple[Device, ...]] = {}
    for device in stage.node.machine.devices:
        found[device.resource] = (*found.get(device.resource, ()), device)
    return found
