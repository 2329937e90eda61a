"""How decisions read: a simulation as a table, a decision in one line."""

from collections.abc import Container, Mapping, Sequence

from numafit.bits import cpuset_text, mask_of
from numafit.decision.decision import Decision, Placement
from numafit.decision.history.step import Step, with_evictions
from numafit.decision.left import NodeLeft, left_on_nodes
from numafit.decision.node import Node
from numafit.decision.simulation import Simulation
from numafit.ledger.ledger import Block
from numafit.notes import GUESS_MATTERS, Note
from numafit.quantity import Quantity
from numafit.show.table import BAD, CRASH, GOOD, PLAIN, Screen, aligned

HEADS = ("POD", "QOS", "VERDICT", "NUMA", "CPUS", "MEMORY", "DEVICES")
MOST_STALE = 5
"""Pods that are gone, or were rejected, and are named with what is still counted of them."""
WIDE_HEADS = ("ASKED", "HINT")


def simulation_table(
    simulation: Simulation, about: Sequence[Note] = (), *, wide: bool = False, screen: Screen = PLAIN
) -> str:
    """`wide` adds what each container asks for, and the merged hint that decided about it.

    A pod of which a note says that its decision depends on a guess has a star: at its CPUs, or at a rejection.
    """
    unsure = unsure_pods(about)
    rows: list[Sequence[str]] = [(*HEADS, *(WIDE_HEADS if wide else ()))]
    labels = labels_of(simulation)
    steps = with_evictions(simulation.steps)
    for step in steps:
        rows += step_rows(step, labels, unsure, wide=wide, screen=screen)
    why = [why_not(simulation.node, step.decision) for step in steps if not step.decision.admitted]
    parts = [aligned(rows, screen=screen), "\n".join(why), left_table(simulation, screen)]
    return "\n\n".join(part for part in parts if part)


def unsure_pods(about: Sequence[Note]) -> frozenset[str]:
    return frozenset(note.about for note in about if note.code in GUESS_MATTERS)


def labels_of(simulation: Simulation) -> dict[str, str]:
    """A UUID says nothing to a reader; the number that the vendor's tools give a GPU does."""
    return {device.id: device.label for device in simulation.node.machine.devices if device.label}


def step_rows(
    step: Step, labels: Mapping[str, str], unsure: Container[str], *, wide: bool, screen: Screen
) -> list[Sequence[str]]:
    """One for each container."""
    rows: list[Sequence[str]] = []
    decision = step.decision
    star = "*" if decision.pod.full_name in unsure else ""
    for container, placement in decision.containers.items():
        devices = [labels.get(device, device) for own in placement.devices.values() for device in own]
        first = not rows
        rows.append(
            (
                _container_name(decision, container),
                decision.qos if first else "",
                step_verdict(step, screen) + ("" if decision.admitted else star) if first else "",
                _numa(decision, placement),
                _cpus(decision, placement) + (star if decision.admitted else ""),
                ", ".join(_block_text(block) for block in placement.memory or ()) or "-",
                ", ".join(sorted(devices)) or "-",
                *((_asked(decision, container), _hint(decision, container)) if wide else ()),
            )
        )
    if not rows:
        # No manager was asked about it: a pod that goes for another one, a resize that never fits.
        place = ("-",) * (4 + len(WIDE_HEADS) * wide)
        rows.append((decision.pod.full_name, decision.qos, step_verdict(step, screen), *place))
    return rows


def step_verdict(step: Step, screen: Screen = PLAIN) -> str:
    decision = step.decision
    if step.event == "evict":
        return screen.paint("evicted", BAD)
    return verdict_text(decision, screen)


def left_table(simulation: Simulation, screen: Screen) -> str:
    labels = labels_of(simulation)
    left: list[Sequence[str]] = [("LEFT", "EXCLUSIVE CPUS", "MEMORY", "DEVICES")]
    nodes = left_on_nodes(simulation.end.node, simulation.after)
    for own in nodes:
        memory = [_block_text(Block((), memory_type, size)) for memory_type, size in own.memory.items() if size]
        devices = [labels.get(device, device) for ids in own.devices.values() for device in ids]
        cells = (cpuset_text(own.cpus), ", ".join(memory), ", ".join(devices))
        left.append((f"NUMA node {own.numa}", *(cell or "-" for cell in cells)))
    below = (_stale(simulation, labels), _whole(simulation, nodes))
    return "\n".join([aligned(left, screen=screen), *(line for line in below if line)])


def _whole(simulation: Simulation, nodes: Sequence[NodeLeft]) -> str:
    """Where the sums of the node leave less than its NUMA nodes: pods that hold nothing ask for something, too."""
    offered, load = simulation.end.offered or {}, simulation.end.load
    parts = []
    if "cpu" in offered:
        cpus = max(0, offered["cpu"].milli() - load.amounts.get("cpu", 0))
        if cpus < 1000 * sum(own.cpus.bit_count() for own in nodes):
            parts.append(f"{Quantity(cpus, -3, 'DecimalSI')} CPU{'' if cpus == 1000 else 's'}")
    if "memory" in offered:
        size = max(0, offered["memory"].value() - load.amounts.get("memory", 0))
        if size < sum(own.memory.get("memory", 0) for own in nodes):
            parts.append(f"{Quantity(size, 0, 'BinarySI')} of memory")
    if "pods" in offered and offered["pods"].value() <= load.pods:
        return "The node as a whole has no room for another pod"
    return f"Of the node as a whole only {' and '.join(parts)} {_are(parts)} left" if parts else ""


def _are(parts: Sequence[str]) -> str:
    return "is" if list(parts) == ["1 CPU"] else "are"


def _stale(simulation: Simulation, labels: Mapping[str, str]) -> str:
    ledger = simulation.after
    if not {*ledger.cpu.entries, *ledger.memory.entries, *ledger.device.held} - ledger.active.keys():
        return ""
    from numafit.decision.held import stale_holdings

    found = []
    pods = simulation.pods
    for uid, own in stale_holdings(simulation.end.node, ledger).items():
        parts = [cpuset_text(own.cpus)] if own.cpus else []
        parts += [_block_text(block) for block in own.memory]
        parts += [labels.get(device, device) for ids in own.devices.values() for device in ids]
        found.append(f"{pods[uid].known_name if uid in pods else uid} {', '.join(parts)}")
    more = f"; {len(found) - MOST_STALE} more" if len(found) > MOST_STALE else ""
    return f"Not left until the kubelet cleans up: {'; '.join(found[:MOST_STALE])}{more}" if found else ""


def why_not(node: Node, decision: Decision, event: int = 0, gone: Mapping[str, frozenset[str]] | None = None) -> str:
    """`event` is the number of the one at which it was decided, where there are several; `gone` as in a story."""
    # Where all pods are admitted nobody tells a story, and the command starts quicker without it.
    from numafit.decision.story.story import decision_sentence

    says = decision.message or decision.panic
    whose = f"{decision.pod.full_name} (event {event})" if event else decision.pod.full_name
    sentence = f"{whose}: {decision_sentence(node, decision, gone=gone)}"
    who = "API server" if decision.resize == "refused" else "kubelet"
    return f"{sentence} The {who} says: {says}" if says else sentence


def _numa(decision: Decision, placement: Placement) -> str:
    mask = placement.affinity[0]
    if mask is None:
        return "any" if decision.runs else "-"
    return cpuset_text(mask) if decision.runs and mask else "-"


def _cpus(decision: Decision, placement: Placement) -> str:
    """A rejected pod runs nowhere; what its first containers were given stays taken all the same."""
    if placement.cpus is None:
        return "shared" if decision.runs else "-"
    return cpuset_text(placement.cpus) or "-"


def _container_name(decision: Decision, container: str) -> str:
    alone = len(decision.pod.all_containers) == 1
    return decision.pod.full_name if alone else f"{decision.pod.full_name}/{container}"


def _asked(decision: Decision, container: str) -> str:
    """Requests; with limits above them `request..limit`, as a pod that is not Guaranteed has."""
    asking = next(own for own in decision.pod.all_containers if own.name == container)
    parts = []
    for name in sorted(asking.requests.keys() | asking.limits.keys()):
        request, limit = asking.requests.get(name), asking.limits.get(name)
        amount = str(request) if limit is None or request == limit else f"{request or 0}..{limit}"
        parts.append(f"{name} {amount}")
    return ", ".join(parts) or "-"


def _hint(decision: Decision, container: str) -> str:
    """The merge that decided about the container: its own, or in the pod scope that of the pod."""
    own = [step for step in decision.merges or () if step.container in ("", container)]
    if not own:
        return "-"
    mask, preferred = own[-1].best
    if mask is None:
        return "any preferred" if preferred else "none"
    nodes = cpuset_text(mask) or "-"
    return f"{nodes} preferred" if preferred else f"{nodes} not preferred"


def verdict_text(decision: Decision, screen: Screen) -> str:
    if decision.panic:
        return screen.paint("crash", CRASH)
    if decision.resize:
        return screen.paint(decision.resize, GOOD if decision.admitted else BAD)
    return screen.paint("admitted", GOOD) if decision.admitted else screen.paint(decision.reason, BAD)


def _block_text(block: Block) -> str:
    size = str(Quantity(block.size, 0, "BinarySI"))
    kind = "" if block.type == "memory" else f" {block.type}"
    where = f"@{cpuset_text(mask_of(block.numa))}" if block.numa else ""
    return f"{size}{where}{kind}"


def decision_text(decision: Decision) -> str:
    """`admitted: CPUs 1-2,9-10, 4Gi@0, GPU-0`, or the reason of a rejection; who goes for it at the end."""
    if decision.panic:
        return "crash of the kubelet"
    if decision.resize:
        return f"resize {decision.resize}"
    if not decision.admitted:
        return f"rejected, {decision.reason}"
    parts = {name: placement_text(placement) for name, placement in decision.containers.items()}
    gone = "".join(f", evicts {victim.pod.full_name}" for victim in decision.evicted)
    if len(parts) == 1:
        return f"admitted: {next(iter(parts.values()))}{gone}"
    return "admitted: " + "; ".join(f"{name}: {text}" for name, text in parts.items()) + gone


def placement_text(placement: Placement) -> str:
    cpus = "shared CPUs" if placement.cpus is None else _cpus_text(placement.cpus)
    return ", ".join(text for text in (cpus, memory_text(placement.memory or ()), devices_text(placement)) if text)


def _cpus_text(cpus: int) -> str:
    return f"CPUs {cpuset_text(cpus)}" if cpus else "no CPUs"


def memory_text(blocks: tuple[Block, ...]) -> str:
    return ", ".join(map(_block_text, blocks))


def devices_text(placement: Placement) -> str:
    return ", ".join(sorted(device for own in placement.devices.values() for device in own))
