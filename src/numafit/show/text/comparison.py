"""How a comparison reads: changed pods first, then what differs between the two kubelets."""

from numafit.advice.compare import Comparison, Pair, RuleChange
from numafit.errors import StartRefusedError


def refusal_text(refusal: StartRefusedError) -> str:
    """The second kubelet would not start: its words, the value that is to blame, and the cure."""
    lines = [f"Then {refusal.message}"]
    if refusal.place:
        lines.append(f"    place: {refusal.place}")
    if refusal.cure:
        lines.append(f"    cure: {refusal.cure}")
    return "\n".join(lines)


def comparison_text(comparison: Comparison) -> str:
    changed = comparison.changed
    neither = sum(pair.was is None and pair.becomes is None for pair in comparison.pairs)
    total = len(comparison.pairs) - neither
    pods = "1 pod is" if total == 1 else f"{total} pods are"
    first = f"{len(changed)} of {total} decisions change" if changed else f"No decision changes: {pods} as before"
    # Behind a pod over which both kubelets crash.
    parts = [first + (f"; {neither} {'is' if neither == 1 else 'are'} decided neither time" if neither else "")]
    parts += [_pair(pair, comparison.rules) for pair in changed]
    if comparison.settings:
        lines = [f"  {item.what}: {item.was} -> {item.becomes}" for item in comparison.settings]
        parts.append("\n".join(["Settings that differ", *lines]))
    if comparison.rules:
        parts.append("\n".join(["Rules that differ", *(f"  {_rule(rule)}" for rule in comparison.rules)]))
    return "\n\n".join(parts)


def _pair(pair: Pair, rules: tuple[RuleChange, ...]) -> str:
    name = pair.pod.full_name
    lines = [name, *(f"  {item.what}: {item.was} -> {item.becomes}" for item in pair.differences)]
    lines += [f"  because: {rule.text} ({rule.was} -> {rule.becomes})" for rule in rules if name in rule.explains]
    return "\n".join(lines)


def _rule(rule: RuleChange) -> str:
    since = f" (since {rule.since})" if rule.since else ""
    return f"{rule.text}: {rule.was} -> {rule.becomes}{since}"
