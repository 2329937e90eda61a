"""A node ready to be asked "what if": started, with whoever is on it already, and with a configuration to change."""

from collections.abc import Iterator, Mapping, Sequence

import msgspec
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.decide import Load, decide
from numafit.decision.decision import Decision
from numafit.decision.held import holding_of
from numafit.decision.history.situation import Situation, situation_of
from numafit.decision.node import Node
from numafit.decision.notes import guess_notes, pod_notes, run_notes, start_notes
from numafit.decision.simulation import Simulation, play
from numafit.decision.start import Start, start
from numafit.errors import KubeletError
from numafit.golang.text import aggregate_text
from numafit.ledger.ledger import Ledger
from numafit.notes import Note
from numafit.quantity import Quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.versions import KubeVersion
from numafit.workload.manifest import Workload
from numafit.workload.pod import Pod
from numafit.workload.reading import REPLAYED, Reading
from numafit.workload.served import UNSEEN

CONTRADICTED = "node-was-otherwise"
_OTHERWISE = "pods, configuration or machine were otherwise when it came"


class Stage(msgspec.Struct, frozen=True):
    node: Node
    ledger: Ledger
    allocatable: Mapping[str, Quantity]
    config: KubeletConfig
    pods: tuple[Pod, ...] = ()
    """Those that are to come."""
    example: str = ""
    """The configuration that was made up because none was given."""
    notes: tuple[Note, ...] = ()
    """What machine, settings and ledger stand on, and which pods were left out."""
    running: int = 0
    """How many of the pods, the first ones, run already and are played again."""
    makers: Mapping[str, Workload] = {}
    """Pod UID -> the object that makes it, of the pods to come."""

    @property
    def maker_names(self) -> dict[str, str]:
        """Pod UID -> kind, namespace and name of the object that makes it."""
        return {uid: f"{maker.kind}/{maker.namespace}/{maker.name}" for uid, maker in self.makers.items()}

    @property
    def situation(self) -> Situation:
        """How the node stands before the pods come."""
        return situation_of(self.node, self.ledger, self.allocatable)

    def decide(self, ledger: Ledger, pod: Pod, others: Load | None = None, *, evicts: bool = True) -> Decision:
        return decide(self.node, ledger, pod, self.allocatable, others=others, evicts=evicts)

    def play(self, pods: Sequence[Pod], ledger: Ledger | None = None) -> Simulation:
        return play(self.node, self.ledger if ledger is None else ledger, pods, self.allocatable)

    def notes_about(self, pods: Sequence[Pod]) -> tuple[Note, ...]:
        """What an answer about pods stands on that does not play them one after the other."""
        guessed = guess_notes(self.node, pods)
        return (*self.notes, *guessed, *pod_notes(self.node, self.ledger, self.allocatable, pods))

    def notes_on(self, simulation: Simulation) -> tuple[Note, ...]:
        """What a run on this node stands on."""
        # A pod that comes again and again has each note once.
        return tuple(dict.fromkeys((*self.notes, *run_notes(simulation), *self.contradictions(simulation))))

    def contradictions(self, simulation: Simulation) -> Iterator[Note]:
        """Pods of which an API server tells another end than this run: the node was not as it is given."""
        first = {step.decision.pod.uid: step.decision for step in reversed(simulation.steps) if step.event == "add"}
        for pod in (*(decision.pod for decision in reversed(first.values())), *simulation.undecided):
            decision = first.get(pod.uid)
            life = self.makers[pod.uid].life if pod.uid in self.makers else UNSEEN
            if life.running and (decision is None or not decision.admitted):
                here = "is rejected here" if decision is not None and not decision.panic else "here the kubelet crashes"
                yield Note(CONTRADICTED, pod.full_name, f"runs, and {here}: {_OTHERWISE}; here it holds nothing")
            elif life.rejected and decision is not None and decision.reason != life.reason:
                here = "is admitted here" if decision.admitted else f"here with {decision.reason or 'a crash'}"
                yield Note(CONTRADICTED, pod.full_name, f"was rejected with {life.reason}, and {here}: {_OTHERWISE}")


def new_stage(known: Start) -> Stage:
    """Raises StartError, in the kubelet's words, where it would not start."""
    known = start(known)
    return Stage(known.node, known.ledger, known.allocatable, known.config, notes=start_notes(known))


def files_left(stage: Stage) -> Mapping[str, str]:
    """The state files that its kubelet leaves; of one that nobody was on nothing is read."""
    if not stage.ledger.active:
        return {}
    # Only a restart writes state files; a command starts quicker without them.
    from numafit.decision.files import state_files

    return state_files(stage.node, stage.ledger)


def restarted(
    stage: Stage, config: KubeletConfig, version: KubeVersion | None = None, files: Mapping[str, str] | None = None
) -> Stage:
    """The kubelet starts again, with another configuration or release, over the state of the pods that were there.

    `files` are its state files, where the caller has them already.

    It admits those again, oldest first, before its pod sources are ready. Raises a KubeletError if it does not start
    or if one of them is rejected.
    """
    node = stage.node
    residents = stage.ledger.active
    if files is None:
        files = files_left(stage)
    fresh = new_stage(
        Start(
            version=version or node.settings.version,
            config=config,
            machine=node.machine,
            plugins=node.device.plugins,
            facts=node.facts,
            files=files,
            active=residents,
        )
    )
    fresh = replace(fresh, notes=stage.notes)
    if not residents:
        return fresh
    running = frozenset((pod.uid, container.name) for pod in residents.values() for container in pod.all_containers)
    ledger = replace(fresh.ledger, ready=False, running=running)
    for pod in residents.values():
        decision = admit(fresh.node, ledger, pod)
        if not decision.admitted:
            raise KubeletError(f"{pod.full_name} would be rejected: {decision.reason or decision.panic}")
        ledger = decision.ledger
    return replace(fresh, ledger=replace(ledger, ready=True, running=frozenset()))


def with_pods(stage: Stage, reading: Reading, *, known: bool) -> Stage:
    """The pods of files on this node: those that run sit where they are, and the others are to come.

    `known`: the ledger tells what the pods on the node hold. Then one that runs is not decided again, unless it must
    hold something and the ledger has nothing of it. Else those that run are played again, first of all.
    """
    stage = replace(stage, makers=reading.makers)
    if not known:
        holders = [pod for pod in reading.running if _holds_something(stage, pod)]
        notes = reading.notes + _replayed(holders, "only --state tells what it holds")
        return replace(stage, pods=reading.pods, running=len(reading.running), notes=stage.notes + notes)
    there = stage.ledger.active
    missing = tuple(pod for pod in reading.running if pod.uid not in there and _holds_something(stage, pod))
    lacking = {pod.uid for pod in missing}
    residents = {pod.uid: pod for pod in reading.running if pod.uid not in lacking}
    others = {uid: pod for uid, pod in there.items() if uid not in residents and uid not in reading.ended}
    return replace(
        stage,
        ledger=replace(stage.ledger, active={**others, **residents}),
        pods=missing + reading.coming,
        running=len(missing),
        notes=stage.notes + reading.notes + _replayed(missing, "the state does not know it"),
    )


def after_running(stage: Stage) -> tuple[Stage, tuple[Pod, ...]]:
    """The node with those on it that run already, and the pods to come; those that run where no others are given."""
    if not stage.running:
        return stage, stage.pods
    simulation = stage.play(stage.pods[: stage.running])
    notes = (*stage.notes, *stage.contradictions(simulation))
    return replace(stage, ledger=simulation.after, notes=notes), stage.pods[stage.running :] or stage.pods


def _replayed(running: Sequence[Pod], why: str) -> tuple[Note, ...]:
    text = f"runs, and is played again by its start: {why}"
    return tuple(Note(REPLAYED, pod.full_name, text) for pod in running)


def _holds_something(stage: Stage, pod: Pod) -> bool:
    decision = admit(stage.node, stage.ledger, pod)
    return not decision.admitted or not holding_of(stage.node, decision.ledger, pod.uid).empty


def start_problem(error: KubeletError) -> str:
    """What is wrong, without what the kubelet says before several problems."""
    return aggregate_text([problem.message for problem in error.problems])
