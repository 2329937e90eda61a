"""What a prediction stands on: notes of a start, of pods on the node that they come to, and of a run that ended early.

What a machine's sources leave open is told by the machine's own notes; what a manifest asks for and nobody looks at, by
those of its pods.
"""

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

from numafit.decision.decision import Crash, Decision
from numafit.decision.node import Node
from numafit.decision.simulation import Simulation
from numafit.decision.start import UNKNOWN, Start
from numafit.decision.story.refused_words import blame_in_words
from numafit.errors import near_words, some_of
from numafit.ledger.ledger import Ledger
from numafit.ledger.state_files import DEVICE_FILE
from numafit.managers.device.manager import is_plugin_resource
from numafit.notes import Note
from numafit.quantity import Quantity
from numafit.settings.versions import KubeVersion
from numafit.workload.api_server import is_extended
from numafit.workload.pod import STORAGE, Pod
from numafit.workload.unread import CLAIMS_NOT_ALIGNED, UNCHECKED_PORTS, UNCHECKED_SELECTORS, UNCHECKED_STORAGE

KUBELET = "kubelet"
NOT_STARTED = "kubelet-not-started"
MOST_NAMED = 5
"""Of pods that were not decided."""


def start_notes(known: Start) -> tuple[Note, ...]:
    """Of a kubelet that has started."""
    return (*config_notes(known), *_ignored(known))


def config_notes(known: Start) -> tuple[Note, ...]:
    """What is not known of the kubelet's configuration, whether it starts or not."""
    return tuple(_not_given(known))


def release_notes(version: KubeVersion, *, given: bool) -> tuple[Note, ...]:
    text = f"no release was given, so it is taken to be {version} (--kube-version)"
    return () if given else (Note("release-assumed", KUBELET, text),)


def _not_given(known: Start) -> Iterator[Note]:
    yield from release_notes(known.version, given=known.release_given)
    if known.sources is UNKNOWN:
        return
    if known.sources.example:
        yield Note("kubelet-assumed", KUBELET, "no configuration was given, so an example with all managers on decides")
    if known.flags is UNKNOWN:
        return
    for flag, name in known.sources.missing(known.flags).items():
        option = "--kubelet" if flag == "--config" else flag
        why = f"{flag}={name} is not looked at (give what it names, or a copy, by {option})"
        yield Note("file-not-read", known.sources.arguments_source, why)
    if known.merged is not UNKNOWN:
        yield from known.sources.notes(known.merged)


def _ignored(known: Start) -> Iterator[Note]:
    unknown_fields = () if known.merged is UNKNOWN else known.merged.unknown
    for unknown in unknown_fields:
        place = f"{unknown.source}:{unknown.line}" if unknown.line else unknown.source
        since = "later kubelets know it" if unknown.later else "no kubelet knows it"
        yield Note("field-ignored", place, f"{unknown.field} is ignored by the kubelet {known.version}: {since}")
    unread = known.device_state[1]
    if unread:
        yield Note("device-state-unread", KUBELET, f"the kubelet goes on without its {DEVICE_FILE}: {unread}")


def pod_notes(
    node: Node,
    ledger: Ledger,
    allocatable: Mapping[str, Quantity],
    pods: Iterable[Pod],
    later: Collection[str] = (),
) -> Iterator[Note]:
    """What a pod says and nobody looks at, and resources that the node does not offer.

    The kubelet drops those from the request without a word. `later`: their plugins come in the course of the run.
    """
    for pod in pods:
        for unread in pod.unread:
            if not _is_looked_at(unread.code, node, ledger, allocatable):
                yield Note(unread.code, pod.full_name, unread.text)
        wanted = dict.fromkeys(
            name
            for container in pod.all_containers
            for name, amount in {**container.requests, **container.limits}.items()
            if not amount.is_zero
        )
        for resource in wanted:
            offered = resource in allocatable or is_plugin_resource(ledger.device, resource)
            if is_extended(resource) and not offered:
                yield Note("resource-not-offered", pod.full_name, _not_offered(ledger, resource, later))


def _is_looked_at(code: str, node: Node, ledger: Ledger, allocatable: Mapping[str, Quantity]) -> bool:
    """On a node of which enough is known."""
    if code == CLAIMS_NOT_ALIGNED:
        return not node.cpu.static
    if code == UNCHECKED_SELECTORS:
        return node.facts.labels is not None
    if code == UNCHECKED_STORAGE:
        return STORAGE in allocatable
    return code == UNCHECKED_PORTS and not any(pod.name == pod.uid for pod in ledger.active.values())


def _not_offered(ledger: Ledger, resource: str, later: Collection[str]) -> str:
    if resource in later:
        return f"no device plugin offers {resource} when it comes: the kubelet drops it, and admits the pod without"
    offered = sorted(ledger.device.healthy)
    near = near_words(resource, offered)
    if near:
        cure = f"the nearest that it offers is {near[0]}"
    elif offered:
        cure = f"offered are {', '.join(offered)}"
    else:
        cure = "it offers no devices; --device adds some"
    return f"no device plugin of this machine offers {resource}: the kubelet drops it, and the pod gets none ({cure})"


def guess_notes(node: Node, pods: Collection[Pod]) -> Iterator[Note]:
    """What was guessed of the machine and can matter to these pods."""
    if node.machine.assumed:
        from numafit.decision.doubt.assumed import assumed_notes

        yield from assumed_notes(node, pods)


def run_notes(simulation: Simulation) -> Iterator[Note]:
    """Of pods that were played: also those after which the kubelet was no more."""
    played = {step.decision.pod.uid: step.decision.pod for step in simulation.steps}
    guessed = tuple(guess_notes(simulation.node, played.values()))
    yield from guessed
    yield from _coming_notes(simulation)
    # Only a guess that matters, and only a decision by chance, needs these: a command starts quicker without them.
    if guessed:
        from numafit.decision.doubt.unsure import unsure_notes, unsure_steps

        yield from unsure_notes(simulation, unsure_steps(simulation))
    if any(step.draws for step in simulation.steps):
        from numafit.decision.doubt.chance import chance_notes

        yield from chance_notes(simulation)
    yield from _event_notes(simulation)


def _coming_notes(simulation: Simulation) -> Iterator[Note]:
    """Of each pod, by what the node offers as it is decided for the first time."""
    known: set[str] = set()
    before = simulation.begin
    later = {resource for happened in simulation.happened for resource in happened.after.plugins}
    for happened in simulation.happened:
        for step in happened.steps:
            pod = step.decision.pod
            if pod.uid not in known and step.event in ("add", "restart"):
                known.add(pod.uid)
                ledger = before.ledger if step.before is None else step.before
                yield from pod_notes(simulation.node_of(step), ledger, before.offered or {}, (pod,), later)
        before = happened.after


def _event_notes(simulation: Simulation) -> Iterator[Note]:
    """Of events without effect, and of a kubelet that ended."""
    undecided = [pod.full_name for pod in simulation.undecided]
    for number, happened in enumerate(simulation.happened, 1):
        about = f"event {number}"
        if happened.void:
            yield Note("event-without-effect", about, f"no effect: {happened.void}")
        crashed = next((step.decision for step in happened.steps if step.decision.panic), None)
        if crashed is not None:
            last = not any(later.steps for later in simulation.happened[number:])
            yield crash_note(crashed, crashed.pod.full_name, undecided if last else (), "not decided")
            undecided = [] if last else undecided
        elif happened.crash:
            yield Note(NOT_STARTED, about, "the kubelet does not start again")
    if undecided:
        yield Note("kubelet-down", KUBELET, f"it is down at the end{_so(undecided, 'not decided')}")


def crash_note(crashed: Decision, about: str, names: Sequence[str], what: str) -> Note:
    """`names` are the pods of which the kubelet's end makes `what`: `not decided`, `not counted further`."""
    blame = f": {blame_in_words(crashed.cause)}" if isinstance(crashed.cause, Crash) else ""
    return Note("run-ended", about, f"the kubelet crashes over this pod{blame}{_so(names, what)}")


def _so(names: Sequence[str], what: str) -> str:
    if not names:
        return ""
    return f", so {some_of(names, MOST_NAMED)} {'was' if len(names) == 1 else 'were'} {what}"
