"""Other numbers for a pod: how far exactly each one has to go until the pod is placed well."""

from collections.abc import Callable, Iterator, Sequence

from numafit.advice.propose.knobs import (
    WHOLE_CPU,
    Knob,
    amount_of,
    amount_text,
    every_knob,
    knobs_of,
    turned,
    whole_cpu_knobs,
)
from numafit.advice.propose.proposal import Proposal
from numafit.advice.propose.trial import Trial
from numafit.decision.decision import Decision
from numafit.managers.ask import ask_of
from numafit.managers.protocol import SMT_ALIGNMENT
from numafit.workload.pod import Pod

MOST_IN_A_ROW = 512
"""Up to so many steps are tried one by one, from the top, which finds the largest that fits. Beyond, by halving, which
finds one that fits where the next does not."""


def fewer(trial: Trial, in_a_row: int = MOST_IN_A_ROW) -> Iterator[Proposal]:
    """Less of one resource; or, where no single one helps, less of several at once."""
    pod = trial.pod
    knobs = knobs_of(pod)
    found = False
    for knob in knobs:
        most = -(-amount_of(pod, knob) // knob.step) - 1
        steps = largest(most, _turned(trial, pod, knob), in_a_row)
        decision = None if steps is None else trial.tried(turned(pod, knob, steps * knob.step))
        if decision is not None:
            found = True
            yield from _proposal(trial, decision, (knob,))
    if not found:
        decision = _together(trial, knobs, in_a_row)
        if decision is not None:
            yield from _proposal(trial, decision, knobs)


def more(trial: Trial) -> Iterator[Proposal]:
    """With full-pcpus-only, a few CPUs more make whole cores; in several containers at once where several need it.

    A pod with resources of its own, which its containers use up, needs more of them for those that share the rest.
    """
    if trial.decision.reason == SMT_ALIGNMENT:
        yield from _whole_cores(trial)
    elif ask_of(trial.pod, trial.stage.node.settings).pod_level == "managed" and not trial.decision.admitted:
        yield from _larger_budget(trial)


def _whole_cores(trial: Trial) -> Iterator[Proposal]:
    per_core = trial.stage.node.cpu.topology.cpus_per_core * WHOLE_CPU
    pod = trial.pod
    odd = [knob for knob in whole_cpu_knobs(pod) if amount_of(pod, knob) % per_core]
    for knob in odd:
        pod = turned(pod, knob, -(-amount_of(pod, knob) // per_core) * per_core)
    if odd:
        yield from _more(trial, pod, odd)


def _larger_budget(trial: Trial) -> Iterator[Proposal]:
    """One step more of a resource of the pod itself; of two at once where one does not help."""
    pod = trial.pod
    own = [knob for knob in every_knob(pod) if not knob.container and knob.resource in ("cpu", "memory")]
    found = False
    for knob in own:
        for proposal in _more(trial, turned(pod, knob, amount_of(pod, knob) + knob.step), (knob,)):
            found = True
            yield proposal
    if not found and len(own) > 1:
        for knob in own:
            pod = turned(pod, knob, amount_of(pod, knob) + knob.step)
        yield from _more(trial, pod, own)


def _more(trial: Trial, pod: Pod, knobs: Sequence[Knob]) -> Iterator[Proposal]:
    decision = trial.tried(pod)
    loses = None if decision is None else trial.loses(pod)
    if decision is not None and loses is not None:
        text = ", ".join(_change(trial.pod, pod, knob) for knob in knobs)
        yield Proposal("more", text, (decision,), loses=loses, pods=(decision.pod,))


def largest(most: int, fits: Callable[[int], bool], in_a_row: int = MOST_IN_A_ROW) -> int | None:
    """A number from 1 to `most` that fits while the next one does not (or is beyond `most`)."""
    if most <= in_a_row:
        return next((number for number in range(most, 0, -1) if fits(number)), None)
    if fits(most):
        return most
    if not fits(1):
        return None
    low, high = 1, most
    while high - low > 1:
        middle = (low + high) // 2
        if fits(middle):
            low = middle
        else:
            high = middle
    return low


def _turned(trial: Trial, pod: Pod, knob: Knob) -> Callable[[int], bool]:
    return lambda steps: trial.tried(turned(pod, knob, steps * knob.step)) is not None


def _together(trial: Trial, knobs: tuple[Knob, ...], in_a_row: int) -> Decision | None:
    """Everything at its least, then each number back up as far as it goes: devices first, then CPUs, then memory."""
    pod = _bottom(trial, knobs) if len(knobs) > 1 else None
    if pod is None:
        return None
    for knob in sorted(knobs, key=lambda knob: ("/" not in knob.resource, knob.resource)):
        wanted = amount_of(trial.pod, knob)
        if trial.tried(turned(pod, knob, wanted)) is not None:
            pod = turned(pod, knob, wanted)
            continue
        steps = largest(-(-wanted // knob.step) - 1, _turned(trial, pod, knob), in_a_row)
        if steps is not None:
            pod = turned(pod, knob, steps * knob.step)
    return trial.tried(pod)


def _bottom(trial: Trial, knobs: tuple[Knob, ...]) -> Pod | None:
    """Everything at its least, if that fits: one CPU each, or one core each where only whole cores are given."""
    for cpus in dict.fromkeys((1, trial.stage.node.cpu.topology.cpus_per_core)):
        pod = trial.pod
        for knob in knobs:
            least = knob.step * cpus if knob.counts_cpus else knob.step
            pod = turned(pod, knob, min(least, amount_of(pod, knob)))
        if trial.tried(pod) is not None:
            return pod
    return None


def _proposal(trial: Trial, decision: Decision, knobs: tuple[Knob, ...]) -> Iterator[Proposal]:
    loses = trial.loses(decision.pod)
    if loses is None:
        return
    changed = [knob for knob in knobs if amount_of(trial.pod, knob) != amount_of(decision.pod, knob)]
    yield Proposal(
        "fewer",
        ", ".join(_change(trial.pod, decision.pod, knob) for knob in changed),
        (decision,),
        loss=max(1 - amount_of(decision.pod, knob) / amount_of(trial.pod, knob) for knob in changed),
        loses=loses,
        pods=(decision.pod,),
    )


def _change(old: Pod, new: Pod, knob: Knob) -> str:
    was, becomes = (amount_text(knob.resource, amount_of(pod, knob)) for pod in (old, new))
    return f"{knob.name} {was} -> {becomes}"
