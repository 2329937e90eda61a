"""How advice reads: before and after for people, patches for kubectl."""

from collections.abc import Sequence

from numafit.advice.propose.advise import Advice
from numafit.advice.propose.proposal import Proposal, patch_of
from numafit.decision.decision import Decision
from numafit.errors import some_of
from numafit.settings.config import KubeletConfig
from numafit.show.records.advice import Makers, maker_of
from numafit.show.table import BAD, GOOD, PLAIN, WARNING, Screen
from numafit.show.text.simulation import decision_text

MOST_NAMED = 3


def one_advice(advice: Advice, most: int, screen: Screen = PLAIN) -> str:
    decision = advice.decision
    name = decision.pod.full_name
    if not advice.fault:
        return f"{name}: {screen.paint('nothing to change', GOOD)}\n  now  {decision_text(decision)}"
    lines = [f"{name}: {screen.paint(advice.fault, WARNING if decision.admitted else BAD)}", f"  {advice.why}"]
    if advice.same:
        lines.append(f"  {_same(advice.same)}")
    if advice.replicas:
        lines.append(f"  of the same object, with another fault: {some_of(advice.replicas, MOST_NAMED)}")
    if decision.admitted:
        lines.append(f"  now  {decision_text(decision)}")
    if not advice.proposals:
        lines += ["", "  None of the changes that advise tries would help."]
    for number, proposal in enumerate(advice.proposals[:most], 1):
        lines += ["", f"  {number}. {proposal.kind}: {proposal.text}"]
        if proposal.pods and advice.alike > 1:
            lines[-1] += f" (in all {advice.alike} pods)"
        lines += [f"     then {_after(each, proposal)}" for each in proposal.decisions]
        if proposal.loses:
            lines.append(f"     but rejects {', '.join(proposal.loses)}")
    hidden = len(advice.proposals) - most
    if hidden > 0:
        lines += ["", f"  {hidden} more with --most {len(advice.proposals)}"]
    return "\n".join(lines)


def _same(names: Sequence[str]) -> str:
    pods = "1 more pod" if len(names) == 1 else f"{len(names)} more pods"
    return f"the same fault: {pods} of this shape ({some_of(names, MOST_NAMED)}); --pod NAME advises on one of them"


def _after(decision: Decision, proposal: Proposal) -> str:
    text = decision_text(decision)
    if len(proposal.decisions) > 1:
        text = f"{decision.pod.name} {text}"
    return text if proposal.aligned else f"{text}; not aligned"


def advice_patches(advices: Sequence[Advice], config: KubeletConfig, makers: Makers) -> str:
    """One YAML document per pod, its first proposal that changes a file; comments say for what."""
    import yaml

    documents = []
    for advice in advices:
        pod = advice.decision.pod
        if not advice.fault:
            continue
        for proposal in advice.proposals:
            kind, name = maker_of(makers, pod)
            patch = patch_of(proposal, pod, config, kind)
            if patch is None:
                continue
            target = "the kubelet's configuration" if proposal.config is not None else f"{kind} {pod.namespace}/{name}"
            comment = f"# {target}, so that {pod.full_name} fits: {proposal.text}\n"
            owner = makers[pod.uid].life.owner if pod.uid in makers and proposal.config is None else ""
            if owner:
                comment += f"# {owner} made this pod: the change belongs into its pod template\n"
            if advice.same:
                comment += f"# {_same(advice.same)}\n"
            documents.append(comment + yaml.safe_dump(patch, sort_keys=False))
            break
        else:
            documents.append(f"# {pod.full_name}: no change of a file helps\n")
    return "---\n".join(documents)
