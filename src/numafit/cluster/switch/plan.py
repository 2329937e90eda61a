"""What a change of a kubelet's configuration would do to its node, before anything is touched.

Three questions, all put to the engine: would the new kubelet start on this machine, over an empty state and over the
state that is there; who of the running pods would be rejected or sit elsewhere when it admits them again; and what
would become of the pods that a drain sends away, if they came back.
"""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.advice.compare import Difference, facts_of, settings_differences
from numafit.advice.doctor.checkup import examine
from numafit.advice.doctor.diagnosis import Diagnosis
from numafit.advice.lint.lint import LintFile, lint
from numafit.cluster.switch.drain import Drain, DrainChoice, PodOnNode, drain_of
from numafit.decision.decision import Decision
from numafit.decision.files import state_files
from numafit.decision.history.event import Beginning, PluginsAt
from numafit.decision.history.restart import restart
from numafit.decision.history.situation import Situation
from numafit.decision.notes import config_notes
from numafit.decision.simulation import play
from numafit.decision.stage import Stage, new_stage
from numafit.decision.start import UNKNOWN, Files, Start, examined
from numafit.document import read_documents
from numafit.errors import InputError, KubeletError
from numafit.ledger.state_files import CPU_FILE, MEMORY_FILE
from numafit.notes import Note
from numafit.settings.read.loader import ConfigSources
from numafit.workload.objects import ManifestFile
from numafit.workload.pod import Pod
from numafit.workload.reading import LEFT_OUT, NodeChoice, Reading, read_files
from numafit.workload.served import ENDED

STATE_STEPS = {"cpu_state": CPU_FILE, "memory_state": MEMORY_FILE}
"""Step of a kubelet's start -> the state file that it refuses there."""
EVICTED, STAYS, BLOCKED = "evicted", "stays", "blocked"
AS_BEFORE, MOVES, REJECTED, UNDECIDED, AWAY = "as before", "moves", "rejected", "not known", "does not come back"
MAY_BE_REJECTED = "may be rejected"
"""As long as its device plugin has not come back to the new kubelet."""


class SwitchQuestion(msgspec.Struct, frozen=True):
    """All that is known of a node and of what is wanted."""

    known: Start
    """Release, machine and facts; neither a configuration nor state files."""
    present: ConfigSources
    new: ConfigSources
    files: Files
    """The state files that are there."""
    listed: bytes
    """The pods of the node, as the API server lists them."""
    node: str = ""
    keep_pods: bool = False
    choice: DrainChoice = DrainChoice()
    notes: tuple[Note, ...] = ()
    """What the machine stands on."""


class FileMoved(msgspec.Struct, frozen=True):
    """A state file that the new kubelet does not get to see."""

    file: str
    why: str


class PodFate(msgspec.Struct, frozen=True):
    pod: str
    action: str
    """EVICTED, STAYS or BLOCKED."""
    outcome: str
    """When the new kubelet decides on it: AS_BEFORE, MOVES, REJECTED, MAY_BE_REJECTED, UNDECIDED or AWAY."""
    why: str = ""
    """It stays, or must not go."""
    cure: str = ""
    message: str = ""
    """A rejection in the kubelet's words."""
    differences: tuple[Difference, ...] = ()


class KeepAnswer(msgspec.Struct, frozen=True):
    """What `--keep-pods` would mean."""

    possible: bool
    why: str = ""
    """It is not."""
    moved: tuple[FileMoved, ...] = ()
    fates: tuple[PodFate, ...] = ()


class SwitchPlan(msgspec.Struct, frozen=True, rename="camel"):
    node: str
    release: str
    keep_pods: bool
    settings: tuple[Difference, ...] = ()
    others: tuple[str, ...] = ()
    """Fields that change, too, and that decide nothing here."""
    errors: tuple[Diagnosis, ...] = ()
    """The new kubelet would not start."""
    warnings: tuple[Diagnosis, ...] = ()
    moved: tuple[FileMoved, ...] = ()
    fates: tuple[PodFate, ...] = ()
    keep: KeepAnswer = KeepAnswer(possible=True)
    policies: Mapping[str, str] = {}
    """State file -> the policy that must stand in it when the new kubelet runs."""
    pod_entries: bool = False
    """Its state files tell of pods as a whole, too."""
    notes: tuple[Note, ...] = ()

    @property
    def blocked(self) -> tuple[PodFate, ...]:
        return tuple(fate for fate in self.fates if fate.action == BLOCKED)

    @property
    def refusals(self) -> tuple[str, ...]:
        """Why nothing is to be done; empty where it can be."""
        if self.errors:
            return (f"the new kubelet would not start: {self.errors[0].text}",)
        if self.keep_pods and not self.keep.possible:
            return (f"pods cannot be kept: {self.keep.why}",)
        return tuple(f"{fate.pod} {fate.why} ({fate.cure} lets it go)" for fate in self.blocked)


def plan_switch(asked: SwitchQuestion) -> SwitchPlan:
    """Raises InputError for what cannot be read at all."""
    known = asked.known
    release = str(known.version)
    fresh = replace(known, sources=asked.new)
    checkup = examine(fresh, owners=frozenset(), place=_name(asked.new))
    found = (*checkup.findings, *_lint(asked, asked.new, checkup.findings))
    errors = tuple(each for each in found if each.severity == "error")
    # What is to be said of the kubelet that runs as well is no news of this change.
    old = {(each.code, each.text) for each in _lint(asked, asked.present, ())}
    warnings = tuple(each for each in found if each.severity != "error" and (each.code, each.text) not in old)
    plan = SwitchPlan(
        asked.node,
        release,
        asked.keep_pods,
        errors=errors,
        warnings=warnings,
        others=_other_fields(asked),
        notes=(*asked.notes, *checkup.notes),
    )
    if plan.refusals:
        return plan
    stage = new_stage(fresh)
    reading = _reading(asked, pod_level=stage.node.settings.gate("PodLevelResources"))
    drain = drain_of(bound_pods(asked.listed), asked.choice)
    was, present, notes = _present(asked, reading)
    pods = _Pods(reading, was)
    refused = _refused(replace(fresh, files=asked.files))
    keep = _kept(asked, fresh, refused, pods, drain)
    if asked.keep_pods:
        moved, fates = keep.moved, keep.fates
    else:
        moved = tuple(
            FileMoved(name, refused.get(name, "a drained node begins with an empty state"))
            for name in (CPU_FILE, MEMORY_FILE)
            if name in asked.files
        )
        fates = _drained(asked, fresh, moved, pods, drain)
    settings = () if present is None else settings_differences(present, stage)
    told = {each.what for each in settings}
    return replace(
        plan,
        settings=settings,
        others=tuple(name for name in plan.others if name not in told),
        moved=moved,
        fates=fates,
        keep=keep,
        policies=_policies(stage),
        pod_entries=stage.node.cpu.pod_entries,
        notes=tuple(dict.fromkeys((*plan.notes, *config_notes(_loaded(fresh)), *notes, *_open(reading)))),
    )


def bound_pods(listed: bytes) -> tuple[PodOnNode, ...]:
    """In the order of the list."""
    try:
        return tuple(msgspec.json.decode(listed, type=_Listed).items)
    except msgspec.MsgspecError as error:
        raise InputError(f"this is no list of pods: {error}", source="the API server") from None


class _Listed(msgspec.Struct):
    items: list[PodOnNode]


class _Pods:
    """The pods of the node by the UID by which the kubelet knows them, and what they have now."""

    def __init__(self, reading: Reading, was: Mapping[str, dict[str, str]]) -> None:
        # So a kubelet that starts takes them (1.20 to 1.37); of the same second it takes any first.
        by_creation = sorted(reading.running, key=lambda pod: reading.makers[pod.uid].life.created)
        self.running = {pod.uid: pod for pod in by_creation}
        self.all = {pod.uid: pod for pod in reading.pods}
        self.was = was


def _name(sources: ConfigSources) -> str:
    return sources.arguments_source if sources.file is None else sources.file.name


def _lint(asked: SwitchQuestion, sources: ConfigSources, known: Sequence[Diagnosis]) -> Iterator[Diagnosis]:
    """What lint finds beside that: hints are left to `numafit lint`."""
    files = [LintFile(each.name, each.text.encode()) for each in (sources.file, *(sources.drop_ins or ())) if each]
    if sources.arguments_text:
        files.append(LintFile(sources.arguments_source, sources.arguments_text.encode()))
    machine = None if asked.known.machine is UNKNOWN else asked.known.machine
    places = {(each.place, each.line, each.column) for each in known}
    for found in lint(files, asked.known.version, machine).findings:
        source, line, column = found.place.source, found.place.line, found.place.column
        if found.severity != "info" and (source, line, column) not in places:
            cure = (found.cure,) if found.cure else ()
            yield Diagnosis(found.code, found.severity, source, found.message, cure=cure, line=line, column=column)


def _open(reading: Reading) -> Iterator[Note]:
    """Pods that have ended are no part of this."""
    return (note for note in reading.notes if note.code != LEFT_OUT)


def _loaded(known: Start) -> Start:
    return examined(known).known


def _reading(asked: SwitchQuestion, *, pod_level: bool) -> Reading:
    if all(pod.status.phase in ENDED for pod in bound_pods(asked.listed)):
        return Reading((), (), {})
    files = [ManifestFile("the pods of the node", asked.listed)]
    return read_files(files, pod_level=pod_level, choice=NodeChoice(asked.node))


def _present(
    asked: SwitchQuestion, reading: Reading
) -> tuple[Mapping[str, dict[str, str]], Stage | None, tuple[Note, ...]]:
    """Pod UID -> what it has now, as the kubelet that runs would give it once more over its state."""
    try:
        stage = new_stage(replace(asked.known, sources=asked.present, files=asked.files, active={}))
        decisions = _readmitted(stage, reading.running)
    except (KubeletError, InputError) as error:
        text = f"the kubelet that runs would not start again, so what its pods hold is not known: {error}"
        return {}, None, (Note("node-partly-known", "node", text),)
    return {uid: facts_of(decision) for uid, decision in decisions.items()}, stage, ()


def _situation(stage: Stage, pods: Sequence[Pod]) -> Situation:
    """The kubelet of this stage has these pods on its node, and starts again."""
    situation = stage.situation
    return replace(situation, ledger=replace(situation.ledger, active={pod.uid: pod for pod in pods}))


def _readmitted(stage: Stage, pods: Sequence[Pod], plugins: PluginsAt = "first") -> dict[str, Decision]:
    begun = restart(_situation(stage, pods), Beginning(plugins))
    return {decision.pod.uid: decision for decision in begun.readmitted}


def _refused(known: Start) -> dict[str, str]:
    """State file -> the words in which the new kubelet would not take it."""
    return {
        STATE_STEPS[refusal.step]: str(refusal.error)
        for refusal in examined(known).refusals
        if refusal.step in STATE_STEPS
    }


def _kept(asked: SwitchQuestion, fresh: Start, refused: Mapping[str, str], pods: _Pods, drain: Drain) -> KeepAnswer:
    moved = tuple(FileMoved(name, why) for name, why in refused.items())
    files = {name: text for name, text in asked.files.items() if name not in refused}
    try:
        stage = new_stage(replace(fresh, files=files, active={}))
        decisions = _readmitted(stage, tuple(pods.running.values()))
        late = _readmitted(stage, tuple(pods.running.values()), "late") if stage.node.device.plugins else decisions
    except (KubeletError, InputError) as error:
        return KeepAnswer(False, str(error), moved)
    bound = (*drain.evicted, *(each.pod for each in (*drain.staying, *drain.blocked)))
    fates = tuple(
        _with_late(_fate(pod, STAYS, pods, decisions, ""), late.get(pod.kubelet_uid))
        for pod in bound
        if pod.kubelet_uid in pods.running
    )
    crash = _crash(decisions)
    if crash:
        return KeepAnswer(False, crash, moved, fates)
    return KeepAnswer(True, "", moved, fates)


def _drained(
    asked: SwitchQuestion, fresh: Start, moved: Sequence[FileMoved], pods: _Pods, drain: Drain
) -> tuple[PodFate, ...]:
    """Those that stay are admitted first, and then those that were sent away come back, in the order of their start."""
    away = {each.file for each in moved}
    stage = new_stage(replace(fresh, files={n: text for n, text in asked.files.items() if n not in away}, active={}))
    remaining = [each for each in drain.staying if each.pod.kubelet_uid in pods.running]
    begun = restart(_situation(stage, [pods.running[each.pod.kubelet_uid] for each in remaining]), Beginning())
    decisions = {decision.pod.uid: decision for decision in begun.readmitted}
    gone = {pod.kubelet_uid for pod in drain.evicted}
    back = [pod for uid, pod in pods.all.items() if uid in gone]
    later = play(stage.node, begun.situation.ledger, back, stage.allocatable)
    decisions |= {step.decision.pod.uid: step.decision for step in later.steps}
    return (
        *(_fate(pod, EVICTED, pods, decisions, "") for pod in drain.evicted),
        *(_fate(each.pod, STAYS, pods, decisions, each.why) for each in remaining),
        *(PodFate(each.pod.name, BLOCKED, UNDECIDED, each.why, each.cure) for each in drain.blocked),
    )


def _fate(bound: PodOnNode, action: str, pods: _Pods, decisions: Mapping[str, Decision], why: str) -> PodFate:
    uid = bound.kubelet_uid
    decision = decisions.get(uid)
    if action == EVICTED and bound.controller is None:
        return PodFate(bound.name, action, AWAY, "nobody makes it again")
    if decision is None:
        return PodFate(bound.name, action, UNDECIDED, why)
    if not decision.admitted:
        message = decision.panic or f"{decision.reason}: {decision.message}"
        return PodFate(bound.name, action, REJECTED, why, message=message)
    before, after = pods.was.get(uid), facts_of(decision)
    if before is None or before["verdict"] != after["verdict"]:
        # It came after the kubelet's last look, or the kubelet would not take it in any more today.
        return PodFate(bound.name, action, UNDECIDED if before is None else AS_BEFORE, why)
    differences = tuple(
        Difference(name, before.get(name, "-"), after.get(name, "-"))
        for name in dict.fromkeys([*before, *after])
        if before.get(name) != after.get(name)
    )
    return PodFate(bound.name, action, MOVES if differences else AS_BEFORE, why, differences=differences)


def _with_late(fate: PodFate, late: Decision | None) -> PodFate:
    """`late`: the decision of a kubelet that its device plugins have not come back to."""
    if fate.outcome == REJECTED or late is None or late.admitted:
        return fate
    message = late.panic or f"{late.reason}: {late.message}"
    return replace(fate, outcome=MAY_BE_REJECTED, message=message, differences=())


def _crash(decisions: Mapping[str, Decision]) -> str:
    for decision in decisions.values():
        if decision.panic:
            return f"the kubelet would crash over {decision.pod.full_name}: {decision.panic}"
    return ""


def _policies(stage: Stage) -> dict[str, str]:
    """Files that a kubelet of this stage has on disk as soon as it runs."""
    settings = stage.node.settings
    named = {CPU_FILE: settings.cpu_policy, MEMORY_FILE: settings.memory_policy}
    written = state_files(stage.node, stage.ledger)
    return {name: policy for name, policy in named.items() if name in written}


def _other_fields(asked: SwitchQuestion) -> tuple[str, ...]:
    """Fields of the two files that differ, whether the engine looks at them or not."""
    before, after = _fields(asked.present), _fields(asked.new)
    return tuple(name for name in dict.fromkeys([*before, *after]) if before.get(name) != after.get(name))


def _fields(sources: ConfigSources) -> Mapping[str, object]:
    try:
        documents = read_documents(sources.file.text, sources.file.name) if sources.file is not None else ()
    except InputError:
        return {}
    value = documents[0].value if documents else None
    return value if isinstance(value, dict) else {}
