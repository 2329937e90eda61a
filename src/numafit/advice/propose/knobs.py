"""The numbers of a pod that can be turned: one resource of one container, or of the pod itself, in whole steps.

A changed pod is a new pod: what the old one's status said is gone.
"""

from collections.abc import Iterator

import msgspec
from msgspec.structs import replace

from numafit.managers.ask import HUGEPAGES, is_memory
from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.workload.api_server import pod_level_problem, resources_problem, stored
from numafit.workload.pod import Container, Pod, PodResources, Resources

MI = 1 << 20
WHOLE_CPU = 1000
PART_OF_CPU = 100
NOT_PLACED = ("ephemeral-storage",)
POD_LEVEL = "the pod (spec.resources)"
"""Whose numbers they are, where a pod has resources of its own."""


class Knob(msgspec.Struct, frozen=True):
    """`step` in the unit of `amount`: thousandths of a CPU, bytes, devices."""

    container: str
    """Empty for the pod's own resources."""
    resource: str
    step: int

    @property
    def name(self) -> str:
        return f"{self.container or POD_LEVEL}: {self.resource}"

    @property
    def counts_cpus(self) -> bool:
        """CPUs as whole ones, which may become exclusive."""
        return self.resource == "cpu" and self.step == WHOLE_CPU


def knobs_of(pod: Pod) -> tuple[Knob, ...]:
    """All that can be lowered by at least one step, container by container."""
    return tuple(knob for knob in every_knob(pod) if amount_of(pod, knob) > knob.step)


def whole_cpu_knobs(pod: Pod) -> tuple[Knob, ...]:
    """Whole numbers of CPUs, a single one too."""
    return tuple(knob for knob in every_knob(pod) if knob.counts_cpus and amount_of(pod, knob))


def amount_of(pod: Pod, knob: Knob) -> int:
    return _amount(knob.resource, _asked(_owner(pod, knob.container), knob.resource))


def turned(pod: Pod, knob: Knob, amount: int) -> Pod:
    """The request becomes `amount`. The limit follows if it was equal, or if it would be less."""
    owner = _owner(pod, knob.container)
    new = quantity_of_amount(knob.resource, amount)
    old = _asked(owner, knob.resource)
    limit = owner.limits.get(knob.resource)
    requests = {**owner.requests, knob.resource: new}
    limits = dict(owner.limits)
    if limit is not None and (limit == old or limit < new):
        limits[knob.resource] = new
    return with_resources(pod, knob.container, requests, limits)


def with_resources(pod: Pod, container: str, requests: Resources, limits: Resources) -> Pod:
    if not container:
        return as_new(replace(pod, resources=PodResources(requests, limits)))

    def changed(each: Container) -> Container:
        return replace(each, requests=requests, limits=limits) if each.name == container else each

    return as_new(
        replace(
            pod,
            containers=tuple(changed(each) for each in pod.containers),
            init_containers=tuple(changed(each) for each in pod.init_containers),
        )
    )


def as_new(pod: Pod) -> Pod:
    """Without the status that it had."""
    return replace(
        pod,
        containers=tuple(replace(each, allocated=None) for each in pod.containers),
        init_containers=tuple(replace(each, allocated=None) for each in pod.init_containers),
        status_qos="",
    )


def is_valid(pod: Pod) -> bool:
    """Whether the API server would take it."""
    if any(resources_problem(each.requests, each.limits) for each in pod.all_containers):
        return False
    if pod.resources is None:
        return True
    own = resources_problem(pod.resources.requests, pod.resources.limits, of_pod=True)
    return own is None and pod_level_problem(pod) is None


def quantity_of_amount(resource: str, amount: int) -> Quantity:
    """As the API server would hand it out."""
    if resource == "cpu":
        return stored(parse_quantity(f"{amount // 1000}" if amount % 1000 == 0 else f"{amount}m"))
    return stored(Quantity(amount, 0, "BinarySI" if is_memory(resource) else "DecimalSI"))


def amount_text(resource: str, amount: int) -> str:
    return str(quantity_of_amount(resource, amount))


def every_knob(pod: Pod) -> Iterator[Knob]:
    owners: list[tuple[str, Container | PodResources]] = [(each.name, each) for each in pod.all_containers]
    if pod.resources is not None:
        owners.insert(0, ("", pod.resources))
    for name, owner in owners:
        for resource in sorted({*owner.requests, *owner.limits}):
            step = _step(resource, _amount(resource, _asked(owner, resource)))
            if resource not in NOT_PLACED and step:
                yield Knob(name, resource, step)


def _owner(pod: Pod, container: str) -> Container | PodResources:
    if container:
        return next(each for each in pod.all_containers if each.name == container)
    return pod.resources or PodResources()


def _asked(owner: Container | PodResources, resource: str) -> Quantity:
    request = owner.requests.get(resource)
    return owner.limits.get(resource, Quantity(0)) if request is None else request


def _amount(resource: str, quantity: Quantity) -> int:
    return quantity.milli() if resource == "cpu" else quantity.value()


def _step(resource: str, amount: int) -> int:
    """Whole CPUs stay whole; memory goes by mebibytes, huge pages by pages. 0: cannot be turned."""
    if resource == "cpu":
        return PART_OF_CPU if amount % WHOLE_CPU else WHOLE_CPU
    if resource.startswith(HUGEPAGES):
        try:
            return parse_quantity(resource.removeprefix(HUGEPAGES)).value()
        except QuantityError:
            return 0
    return MI if is_memory(resource) else 1
