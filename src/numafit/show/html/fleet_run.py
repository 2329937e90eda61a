"""A fleet in time as a page: for each policy who was rejected and waited, and how the fleet stood over time."""

from collections.abc import Callable, Iterator, Sequence
from html import escape

from numafit.amounts import size_text
from numafit.fleet.simulation.outcome import FleetMoment, RuleOutcome
from numafit.quantity import parse_quantity
from numafit.show.html.parts import page_text, stands_on, table_html
from numafit.show.html.plot import Curve, plot_text
from numafit.show.records.fleet_run import FleetRunAnswer
from numafit.show.text.fleet.simulation import (
    GIB,
    duration_text,
    largest_text,
    left_text,
    many_text,
    part_text,
    skipped_text,
)

SHARES = (("at-once", "had a node at once"), ("later", "waited for one"), ("never", "never had one"))


def fleet_run_page(run: FleetRunAnswer) -> str:
    nodes = "1 node" if run.nodes == 1 else f"{run.nodes:,} nodes"
    pods = "1 pod" if run.pods == 1 else f"{run.pods:,} pods"
    policies = dict.fromkeys(own.policy for own in run.rules)
    parts: list[str] = []
    for policy in policies:
        own = [rule for rule in run.rules if rule.policy == policy]
        parts += _policy(policy, own)
    parts += _told(run)
    return page_text("A fleet in time", f"{pods} in {duration_text(run.seconds)} on {nodes}", parts)


def _policy(policy: str, rules: Sequence[RuleOutcome]) -> Iterator[str]:
    where = f" with {escape(policy)}" if policy else ""
    yield f"<section><h2>What becomes of pods{where}</h2>"
    if rules[0].impossible:
        yield f'<p class="note">{rules[0].impossible:,} pods fit no empty node, and are left out.</p>'
    yield '<div class="card"><ul class="key">'
    yield from (f'<li><i class="{look}"></i>{said}</li>' for look, said in SHARES)
    yield '</ul><div class="shares">'
    yield from (_share(own) for own in rules)
    yield "</div></div>"
    yield f"<h2>Rejections and waiting{where}</h2>"
    yield table_html(
        ("rule", "pods rejected", "made again", "mean wait", "99 % wait", "left waiting", "never placed"),
        map(_waits, rules),
    )
    yield f"<h2>How aligned it is{where}</h2>"
    yield (
        '<p class="note">Containers whose exclusive CPUs are on one NUMA node; whose memory, whose devices are at '
        "these CPUs; how far devices are (10 is the same NUMA node); how well sets of GPUs are linked, by the best set "
        "of as many.</p>"
    )
    yield table_html(
        ("rule", "CPUs together", "memory near", "devices near", "distance", "links"), map(_reached, rules)
    )
    yield f"<h2>How much room it leaves{where}</h2>"
    yield (
        '<p class="note">Large pods that could still come (how often none could); the largest aligned shape that '
        "still fits, as CPUs of one NUMA node/as GPUs with their share of its CPUs; and what is stranded. All of it is "
        "a mean over time.</p>"
    )
    yield from _rooms(rules)
    yield f"<h2>The fleet over time{where}</h2>"
    yield '<ul class="key">'
    yield from (f"<li>{_sample(own)}{escape(own.rule)}</li>" for own in rules)
    yield '</ul><div class="plots">'
    yield from _plots(rules)
    yield "</div></section>"


def _share(own: RuleOutcome) -> str:
    whole = max(own.pods, 1)
    counts = (own.at_once, own.pods - own.at_once - own.unplaced, own.unplaced)
    bars = "".join(
        f'<i class="{look}" style="width:{100 * count / whole:.2f}%" title="{count:,} {said}"></i>'
        for (look, said), count in zip(SHARES, counts, strict=True)
        if count
    )
    told = ", ".join(f"{count:,} {said}" for (_, said), count in zip(SHARES, counts, strict=True))
    return f'<span>{escape(own.rule)}</span><span class="share" role="img" aria-label="{told}">{bars}</span>'


def _waits(own: RuleOutcome) -> tuple[str, ...]:
    return (
        own.rule,
        f"{own.rejected_pods:,}",
        many_text(own.recreations),
        duration_text(own.mean_wait),
        duration_text(own.late_wait),
        f"{own.left_waiting:,}",
        f"{own.unplaced:,}",
    )


def _reached(own: RuleOutcome) -> tuple[str, ...]:
    found = own.alignment
    return (
        own.rule,
        part_text(found.cpus_together, found.cpus),
        part_text(found.memory_near, found.memory),
        part_text(found.devices_near, found.devices),
        "-" if found.device_distance is None else f"{found.device_distance:.1f}",
        "-" if found.link_quality is None else f"{found.link_quality:.2f}",
    )


def _rooms(rules: Sequence[RuleOutcome]) -> Iterator[str]:
    shapes = tuple(dict.fromkeys(left.shape.name for own in rules for left in own.large))
    memory = any(own.stranded_memory for own in rules)
    stranded = ("CPUs stranded", *(("memory stranded",) if memory else ()), "GPUs stranded")
    rows = []
    for own in rules:
        found = {left.shape.name: left_text(left) for left in own.large}
        amounts = (f"{own.stranded_memory / GIB:,.0f} GiB",) if memory else ()
        rows.append(
            (
                own.rule,
                *(found.get(name, "-") for name in shapes),
                largest_text(own),
                f"{own.stranded_cpus:,.0f}",
                *amounts,
                f"{own.stranded_gpus:,.1f}",
            )
        )
    yield table_html(("rule", *shapes, "largest shape", *stranded), rows)


def _look(own: RuleOutcome) -> str:
    """The score gives the colour, a blind rule is dashed."""
    order, _, blind = own.rule.partition(", ")
    return " ".join(word for word in (order.partition("-")[0], blind) if word)


def _sample(own: RuleOutcome) -> str:
    return f'<svg viewBox="0 0 28 8" aria-hidden="true"><path class="rule {_look(own)}" d="M0 4H28"/></svg>'


def _plots(rules: Sequence[RuleOutcome]) -> Iterator[str]:
    yield _plot("Pods that wait", rules, lambda own: own.waiting)
    yield _plot("CPUs that are asked for", rules, lambda own: 100 * own.used_cpus, " %")
    if any(moment.used_devices for own in rules for moment in own.moments):
        yield _plot("Devices that are asked for", rules, lambda own: 100 * own.used_devices, " %")
    yield _plot("CPUs that are stranded", rules, lambda own: own.stranded_cpus)
    if any(moment.stranded_memory for own in rules for moment in own.moments):
        yield _plot("Memory that is stranded, GiB", rules, lambda own: own.stranded_memory / GIB)
    if any(moment.stranded_gpus for own in rules for moment in own.moments):
        yield _plot("GPUs that are stranded", rules, lambda own: own.stranded_gpus)
    yield _plot("Most CPUs that are free on one NUMA node", rules, lambda own: own.largest)
    if any(moment.largest_gpus for own in rules for moment in own.moments):
        note = "each with its share of the CPUs there"
        yield _plot("Most GPUs that are free on one NUMA node", rules, lambda own: own.largest_gpus, note=note)
    for place, left in enumerate(rules[0].large):
        asks = ", ".join(f"{name} {_asked(name, amount)}" for name, amount in left.shape.requests.items())
        yield _plot(f"Room for large pods: {left.shape.name}", rules, _room(place), note=asks)


def _asked(name: str, amount: str) -> str:
    """Shares of a machine's memory are odd numbers of MiB."""
    return size_text(parse_quantity(amount).value()) if name == "memory" else amount


def _room(place: int) -> Callable[[FleetMoment], float]:
    return lambda own: own.large[place] if place < len(own.large) else 0


def _plot(
    title: str, rules: Sequence[RuleOutcome], amount: Callable[[FleetMoment], float], unit: str = "", note: str = ""
) -> str:
    # The first rule is drawn last, over the others.
    curves = [
        Curve(own.rule, _look(own), tuple((at.at, float(amount(at))) for at in own.moments)) for own in reversed(rules)
    ]
    said = f'<p class="note">{escape(note)}</p>' if note else ""
    return f'<figure class="card"><h3>{escape(title)}</h3>{said}{plot_text(title, curves, unit)}</figure>'


def _told(run: FleetRunAnswer) -> Iterator[str]:
    """What the numbers stand on."""
    said = [note.text for note in run.notes]
    said.append("nodes are looked at 200 times, evenly from the first arrival to the last")
    said.append("left waiting are those without a node when the last pod came; it is played on until nobody waits")
    said.append("stranded is what is free and cannot be used with the rest of its NUMA node")
    if run.skipped:
        said.append(skipped_text(run.skipped))
    yield from stands_on(said)
