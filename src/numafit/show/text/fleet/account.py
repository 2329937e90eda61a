"""How a pod stands, told: where it sits, why it was rejected, why it waits node by node."""

from collections.abc import Mapping, Sequence

from numafit.advice.alignment import Given, Torn
from numafit.amounts import count_text, size_text
from numafit.bits import cpuset_text, mask_of
from numafit.decision.filters import NODE_AFFINITY, TAINT_TOLERATION
from numafit.decision.held import Holding
from numafit.decision.story.story import story_of
from numafit.decision.story.terms import nodes_in_words
from numafit.errors import some_of
from numafit.fleet.look.account import PodAccount
from numafit.fleet.look.seats import PodSeat
from numafit.fleet.orders import PROMISED
from numafit.fleet.places import REFUSED, UNSCHEDULABLE
from numafit.fleet.verdicts import NOT_OFFERED
from numafit.fleet.waiting.lack import lack_in_words
from numafit.fleet.waiting.why import AsideNodes, NodesAlike, WhyWaiting
from numafit.fleet.waiting.words import waiting_sentence
from numafit.show.table import BAD, GOOD, HINT, PLAIN, WARNING, Screen, aligned
from numafit.show.text.story import decision_story
from numafit.show.words import printable

MOST_NODES = 4
OUT_OF = "OutOf"
ASIDE = {
    UNSCHEDULABLE: ("is cordoned", "are cordoned"),
    TAINT_TOLERATION: ("has a taint that it does not tolerate", "have taints that it does not tolerate"),
    NODE_AFFINITY: ("is not one that its selector and affinity allow", "are none that its selector and affinity allow"),
    REFUSED: ("refused a pod like it, and has not changed since", "refused a pod like it, and have not changed since"),
}
"""Why nodes are out of the question, of one and of several."""
REASONS = {
    "TopologyAffinityError": "no set of NUMA nodes had all that it asks for as near together as the policy wants it",
    "SMTAlignmentError": "full-pcpus-only gives CPUs by whole cores, and it does not ask for whole cores",
    "UnexpectedAdmissionError": "a manager of the kubelet could not give what it asks for",
    "EmptyPodSharedPoolError": "its own resources leave no CPU for those of its containers that share",
}
"""What a kubelet means by the reason of a rejection."""


def accounts_text(accounts: Sequence[PodAccount], screen: Screen = PLAIN) -> str:
    return "\n\n".join(account_text(each, screen) for each in accounts)


def account_text(account: PodAccount, screen: Screen = PLAIN) -> str:
    makers = {
        "runs": _running,
        "coming": _coming,
        "rejected": _rejected,
        "waits": _waiting,
        "ended": _ended,
    }
    return "\n".join(makers[account.standing](account, screen))


def _running(account: PodAccount, screen: Screen) -> list[str]:
    head = f"{account.name}: runs on {account.node}"
    if account.seat is None:
        return [head, f"  {account.unknown}."]
    seat = account.seat
    words = screen.paint("split", WARNING) if seat.split else screen.paint("aligned", GOOD)
    if seat.holding.empty:
        words = "holds nothing of its own: it shares CPUs and memory with others"
    lines = [f"{head}, {words}"]
    lines += [f"  {line}" for line in seat_lines(seat)]
    if not seat.holding.empty:
        lines.append(f"  Topology policy of the node: {account.policy}.")
    return lines


def seat_lines(seat: PodSeat) -> list[str]:
    """What it holds, what of that lies apart."""
    lines = []
    several = len(seat.containers) > 1
    for name, holding in seat.containers.items():
        who = f"{'container ' + name if name else 'the pod'}: " if several else ""
        nodes = f"NUMA {nodes_in_words(mask_of(holding.nodes))}" if holding.nodes else "no NUMA node"
        lines.append(f"{who}{holding_text(holding)}; on {nodes}")
    if len(seat.holding.nodes) > 1 and not seat.split:
        lines.append("no smaller set of NUMA nodes could hold it")
    lines += [_crossing_text(unit) for unit in seat.crossing]
    lines += [_torn_text(unit) for unit in seat.torn]
    return lines


def holding_text(holding: Holding) -> str:
    parts = []
    if holding.cpus:
        number = count_text(holding.cpus.bit_count(), "CPU")
        parts.append(f"{number} ({cpuset_text(holding.cpus)})")
    sizes: dict[str, int] = {}
    for block in holding.memory:
        sizes[block.type] = sizes.get(block.type, 0) + block.size
    parts += [f"{size_text(size)} {name}" for name, size in sizes.items()]
    parts += [f"{len(ids)} {resource} ({printable(','.join(ids))})" for resource, ids in holding.devices.items()]
    return ", ".join(parts) or "nothing"


def _crossing_text(unit: Given) -> str:
    who = f"container {unit.unit}" if unit.unit else "the pod"
    return f"{who} lies on NUMA {nodes_in_words(unit.nodes)}; the empty machine has room for it on fewer"


def _torn_text(unit: Torn) -> str:
    who = f"container {unit.unit}" if unit.unit else "the pod"
    how = "NVLink joins" if unit.nvlink else "a switch joins"
    pairs = ", ".join(f"{one} and {other}" for one, other in unit.partners)
    return f"the GPUs of {who} could be nearer: {how} {pairs}, of which it has one"


def _coming(account: PodAccount, screen: Screen) -> list[str]:
    return [f"{account.name}: is bound to {account.node}, whose kubelet has not told of it", f"  {account.unknown}."]


def _rejected(account: PodAccount, screen: Screen) -> list[str]:
    lines = [f"{account.name}: {screen.paint(f'rejected by {account.node}, {account.reason}', BAD)}"]
    meaning = reason_text(account.reason)
    if meaning:
        lines.append(f"  When it came, {meaning}.")
    if account.message:
        lines.append(f"  The kubelet said: {printable(account.message)}")
    if account.decision is None or account.engine is None:
        lines.append(f"  {account.unknown}.")
        return lines
    lines.append("")
    if account.decision.admitted:
        lines.append(f"  As {account.node} stands now it would be {screen.paint('admitted', GOOD)}.")
        return lines
    lines.append(f"  As {account.node} stands now ({account.policy}):")
    story = decision_story(account.decision, story_of(account.engine, account.decision), screen=screen.inside(4))
    lines += [f"    {line}".rstrip() for line in story.split("\n")]
    return lines


def reason_text(reason: str) -> str:
    if reason.startswith(OUT_OF):
        return f"the node as a whole had too little {reason.removeprefix(OUT_OF)}"
    return REASONS.get(reason, "")


def _waiting(account: PodAccount, screen: Screen) -> list[str]:
    lines = [f"{account.name}: {screen.paint('waits', WARNING)}", f"  {waiting_text(account)}"]
    why = account.why
    lines += [f"  {line}" for line in _aside_lines(account)]
    if why is None:
        return lines
    if why.groups:
        lines += ["", "  Node by node:"]
        lines += [f"    {line}" for group in why.groups for line in _group(group)]
    helps = _helps(why)
    if helps:
        lines += ["", "  What would help:", *(f"    - {screen.paint(each, HINT)}" for each in helps)]
    return lines


def waiting_text(account: PodAccount) -> str:
    """One sentence, or two."""
    others = [gate for gate in account.gates if not gate.startswith("numafit.io/")]
    head = f"A gate keeps it back that somebody else must remove: {', '.join(others)}. " if others else ""
    why = account.why
    if why is None:
        return f"{head}How nodes stand is not known: {account.unknown}."
    if not why.fitting:
        return f"{head}{waiting_sentence(why)}"
    best = f", best {account.best[0]}" if account.best else ""
    would = f"{count_text(why.fitting, 'node')} would take it now{best}"
    if account.placed:
        # Such as others of its group, for which there is no room.
        return f"{head}{would}; the placer says: {printable(account.placed)}"
    if account.gates and not others:
        return f"{would}; the gate {', '.join(account.gates)} goes when its turn comes."
    if account.message:
        # The reason lies outside of what is looked at here.
        return f"{head}{would}; the scheduler says: {printable(account.message)}"
    return f"{head}{would}."


def _aside_lines(account: PodAccount) -> list[str]:
    lines = []
    if account.message and not (account.why is not None and account.why.fitting):
        lines.append(f"The scheduler says: {printable(account.message)}")
    if account.placed and not (account.why is not None and account.why.fitting):
        lines.append(f"The placer says: {printable(account.placed)}")
    if account.offered:
        lines.append(f"It was offered {some_of(account.offered, MOST_NODES)}, and the scheduler has not bound it.")
    why = account.why
    if why is not None:
        for own in why.aside:
            lines.append(_aside_text(own))
    return lines


def _aside_text(own: AsideNodes) -> str:
    one, several = ASIDE[own.reason]
    more = own.nodes if not own.willing else own.willing
    names = ", ".join(own.names) + (f" and {more - len(own.names)} more" if more > len(own.names) else "")
    head = f"{count_text(own.nodes, 'node')} {one if own.nodes == 1 else several}"
    if not own.willing:
        return f"{head} ({names})"
    who = f"{own.willing} of them" if own.willing < own.nodes else "it" if own.nodes == 1 else "they"
    return f"{head}; but for that, {who} would take it: {names}"


def _group(group: NodesAlike) -> list[str]:
    more = group.nodes - len(group.names)
    names = ", ".join(group.names) + (f" and {more} more" if more > 0 else "")
    lacks = [lack_in_words(lack) for lack in group.lacks]
    told = "; ".join(dict.fromkeys(lacks)) or group.message
    if group.reason in (NOT_OFFERED, PROMISED):
        return [f"{names}: {printable(group.message)}"]
    never = "" if group.empty else ", and would also with nobody on it"
    head = f"{names}: would reject it with {group.reason}{never}"
    return [head, f"    short of: {told}" if lacks else f"    {printable(told)}"]


def _helps(why: WhyWaiting) -> list[str]:
    found = [f"{own.pod} ends: then {own.node} takes it" for own in why.ends[:MOST_NODES]]
    if len(why.ends) > MOST_NODES:
        found.append(f"one pod ends on one of {len(why.ends) - MOST_NODES} other nodes")
    if why.change is not None:
        found.append(f"{why.change.text}: then {why.change.node} takes it now")
    return found


def _ended(account: PodAccount, screen: Screen) -> list[str]:
    where = f" on {account.node}" if account.node else ""
    lines = [f"{account.name}: has ended{where}, {account.reason}"]
    return [*lines, f"  {printable(account.message)}"] if account.message else lines


def pending_text(accounts: Sequence[PodAccount], ages: Mapping[str, str], screen: Screen = PLAIN) -> str:
    """One line for each pod that waits."""
    if not accounts:
        return "No pod waits."
    rows: list[Sequence[str]] = [("POD", "AGE", "WHY")]
    rows += [(each.name, ages.get(each.name, "-"), waiting_text(each)) for each in accounts]
    return aligned(rows, screen=screen)
