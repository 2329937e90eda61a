"""A smaller reservation: how little has to be given up for a pod, and by which of those who hold it.

The kubelet adds up `kubeReserved` and `systemReserved`. Where both reserve something, either can give it: each side is
a proposal of its own. What is cut from reserved memory goes from `reservedMemory` of a NUMA node and from one of the
sides, since a kubelet whose sums differ does not start.
"""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from numafit.advice.propose.knobs import MI, WHOLE_CPU, quantity_of_amount
from numafit.advice.propose.orders import KubeletOrder, reserved_share, share_text, with_memory
from numafit.advice.propose.trial import Trial
from numafit.bits import cpuset_text, mask_of, members
from numafit.decision.left import left_on_nodes
from numafit.decision.stage import Stage
from numafit.managers.ask import MEMORY, ask_of
from numafit.quantity import QuantityError, parse_quantity
from numafit.settings.config import KubeletConfig

SIDES = ("kubeReserved", "systemReserved")
MOST_CPUS = 8
"""So many CPUs are taken from a reservation at the most; beyond that none is proposed."""


def cuts(trial: Trial) -> Iterator[tuple[KubeletOrder, ...]]:
    """For each side the cuts to try, the smallest first: one that helps makes those behind it needless."""
    stage = trial.stage
    if stage.node.cpu.static:
        yield from _cpu_cuts(stage)
    if stage.node.memory is not None and stage.node.memory.static:
        yield from _memory_cuts(trial)


def _cpu_cuts(stage: Stage) -> Iterator[tuple[KubeletOrder, ...]]:
    """A static CPU manager wants at least one CPU to be reserved."""
    config, reserved = stage.config, members(stage.node.cpu.reserved)
    count = len(tuple(reserved))
    most = range(1, min(count, MOST_CPUS + 1))
    if config.reserved_system_cpus:
        yield tuple(_explicit_cpus(stage, cut, count) for cut in most)
        return
    for side in SIDES:
        now = _amount(_reserved_by(config, side), "cpu")
        yield tuple(
            _cut(config, side, "cpu", now, cut * WHOLE_CPU, loss=cut / count) for cut in most if now >= cut * WHOLE_CPU
        )


def _explicit_cpus(stage: Stage, cut: int, count: int) -> KubeletOrder:
    """The last ones are given up."""
    was = stage.node.cpu.reserved
    becomes = cpuset_text(mask_of(list(members(was))[:-cut]))
    text = f"reservedSystemCPUs {cpuset_text(was)} -> {becomes}"
    return KubeletOrder("reservation", text, replace(stage.config, reserved_system_cpus=becomes), loss=cut / count)


def _memory_cuts(trial: Trial) -> Iterator[tuple[KubeletOrder, ...]]:
    """As much as a NUMA node lacks for the largest thing that the pod asks for there, in whole mebibytes."""
    stage, config = trial.stage, trial.stage.config
    wanted = _memory_wanted(trial)
    share = reserved_share(config)
    total = sum(share.values())
    for left in left_on_nodes(stage.node, trial.before):
        lacks = -(-max(0, wanted - left.memory.get(MEMORY, 0)) // MI) * MI
        if not 0 < lacks <= share.get(left.numa, 0):
            continue
        smaller = {**share, left.numa: share[left.numa] - lacks}
        changed = replace(config, reserved_memory=with_memory(config, smaller))
        text = f"reservedMemory {share_text(share)} -> {share_text(smaller) or 'none'}"
        for side in SIDES:
            now = _amount(_reserved_by(config, side), MEMORY)
            if now >= lacks:
                order = _cut(changed, side, MEMORY, now, lacks, loss=lacks / total)
                yield (order._replace(text=f"{text} and {order.text}"),)


def _memory_wanted(trial: Trial) -> int:
    ask = ask_of(trial.pod, trial.stage.node.settings)
    if not ask.guaranteed or ask.pod_level == "skipped":
        return 0
    if trial.stage.node.topology.scope == "pod":
        return (ask.pod_memory or {}).get(MEMORY, 0)
    return max((own or {}).get(MEMORY, 0) for own in ask.memory.values())


def _cut(config: KubeletConfig, side: str, resource: str, now: int, cut: int, *, loss: float) -> KubeletOrder:
    becomes = quantity_of_amount(resource, now - cut)
    kept = {**_reserved_by(config, side), resource: str(becomes)}
    changed = replace(config, kube_reserved=kept) if side == "kubeReserved" else replace(config, system_reserved=kept)
    text = f"{side} {resource} {quantity_of_amount(resource, now)} -> {becomes}"
    return KubeletOrder("reservation", text, changed, loss=loss)


def _reserved_by(config: KubeletConfig, side: str) -> Mapping[str, str]:
    return config.kube_reserved if side == "kubeReserved" else config.system_reserved


def _amount(reserved: Mapping[str, str], resource: str) -> int:
    try:
        quantity = parse_quantity(reserved.get(resource, "0"))
    except QuantityError:
        return 0
    return quantity.milli() if resource == "cpu" else quantity.value()
