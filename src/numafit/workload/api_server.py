"""What the API server fills into a pod before the kubelet sees it, and what it refuses in the pod's resources."""

import re
from functools import lru_cache
from typing import NamedTuple

import msgspec

from numafit.quantity import Quantity, QuantityError, parse_quantity
from numafit.workload.pod import (
    Container,
    Pod,
    PodResources,
    Resources,
    container_limits,
    container_requests,
    is_pod_level,
)


def stored(quantity: Quantity) -> Quantity:
    """As it comes back from the API server: rounded up to thousandths, and through its canonical text."""
    return parse_quantity(str(quantity.rounded_up()))


def defaulted(pod: Pod) -> Pod:
    """Requests out of limits, for containers and then for the pod itself."""
    containers = tuple(_with_requests(container) for container in pod.containers)
    init_containers = tuple(_with_requests(container) for container in pod.init_containers)
    pod = msgspec.structs.replace(pod, containers=containers, init_containers=init_containers)
    if pod.resources is None:
        return pod
    return msgspec.structs.replace(pod, resources=_pod_resources(pod, pod.resources))


def _with_requests(container: Container) -> Container:
    requests = {**container.limits, **container.requests}
    return msgspec.structs.replace(container, requests=requests) if container.limits else container


def _pod_resources(pod: Pod, own: PodResources) -> PodResources:
    if not own.requests and not own.limits:
        return own
    limits: dict[str, Quantity] = dict(own.limits)
    for name, amount in container_limits(pod, sidecars=True).items():
        if name.startswith("hugepages-") and name not in own.requests:
            limits.setdefault(name, amount)
    if not limits:
        return own
    requests: dict[str, Quantity] = dict(own.requests)
    for name, amount in container_requests(pod, sidecars=True).items():
        if name in ("cpu", "memory"):
            requests.setdefault(name, amount)
    for name, amount in limits.items():
        if is_pod_level(name):
            requests.setdefault(name, amount)
    return PodResources(requests=_stored(requests), limits=_stored(limits))


def _stored(resources: Resources) -> Resources:
    return {name: stored(amount) for name, amount in resources.items()}


_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_NAME = r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]"
_LABEL_TEXT = "must consist of lower case alphanumeric characters"
_END_TEXT = "and must start and end with an alphanumeric character"
_QUALIFIED = re.compile(rf"(?:(?P<prefix>{_LABEL}(?:\.{_LABEL})*)/)?(?P<name>{_NAME})")


class ResourcesProblem(NamedTuple):
    """`path` leads from the resources (or the pod's spec) to the value that is refused."""

    path: tuple[str | int, ...]
    message: str
    cure: str = ""


@lru_cache(1024)
def label_problem(name: str) -> str:
    """Why `name` cannot name a container; empty if it can."""
    if len(name) > 63:
        return f'Invalid value: "{name}": must be no more than 63 characters'
    if re.fullmatch(_LABEL, name):
        return ""
    examples = f"(e.g. 'my-name',  or '123-abc', regex used for validation is '{_LABEL}')"
    return f"Invalid value: \"{name}\": a lowercase RFC 1123 label {_LABEL_TEXT} or '-', {_END_TEXT} {examples}"


def subdomain_problem(name: str) -> str:
    """Why `name` cannot name a pod; empty if it can."""
    if len(name) > 253:
        return f'Invalid value: "{name}": must be no more than 253 characters'
    if re.fullmatch(rf"{_LABEL}(\.{_LABEL})*", name):
        return ""
    examples = f"(e.g. 'example.com', regex used for validation is '{_LABEL}(\\.{_LABEL})*')"
    return (
        f"Invalid value: \"{name}\": a lowercase RFC 1123 subdomain {_LABEL_TEXT}, '-' or '.', {_END_TEXT} {examples}"
    )


PLAIN = frozenset(("cpu", "memory"))
"""Resources that any container may ask for, in any amount."""


def is_extended(name: str) -> bool:
    """Neither one of Kubernetes' own resources nor its quota names: a device, as a rule."""
    return "/" in name and "kubernetes.io/" not in name and not name.startswith("requests.")


def is_extended_name(name: str) -> bool:
    """A name that can stand for devices: also with the prefix of a quota it is not too long."""
    return is_extended(name) and _is_qualified(f"requests.{name}")


def resources_problem(requests: Resources, limits: Resources, *, of_pod: bool = False) -> ResourcesProblem | None:
    """The first thing wrong with the resources of a container, or with those of the pod itself."""
    for part, resources in (("limits", limits), ("requests", requests)):
        for name, amount in resources.items():
            if name in PLAIN and amount.sign >= 0:
                continue
            message = _name_problem(name, of_pod=of_pod) or _amount_problem(name, amount)
            if message:
                return ResourcesProblem((part, name), message)
    for name, amount in requests.items():
        limit = limits.get(name)
        exact = name not in PLAIN and (is_extended(name) or name.startswith("hugepages-"))
        if limit is None:
            if exact:
                message = "Required value: Limit must be set for non overcommitable resources"
                return ResourcesProblem(("limits",), message, f"add {name} to the limits")
        elif exact and amount != limit:
            return ResourcesProblem(
                ("requests", name), f'Invalid value: "{amount}": must be equal to {name} limit of {limit}'
            )
        elif amount > limit:
            message = f'Invalid value: "{amount}": must be less than or equal to {name} limit of {limit}'
            return ResourcesProblem(("requests", name), message)
    names = requests.keys() | limits.keys()
    if names <= PLAIN:
        return None
    if any(name.startswith("hugepages-") for name in names) and not names & {"cpu", "memory"}:
        return ResourcesProblem((), "Forbidden: HugePages require cpu or memory")
    return None


def _is_qualified(name: str) -> bool:
    qualified = _QUALIFIED.fullmatch(name)
    return qualified is not None and len(qualified["name"]) <= 63 and len(qualified["prefix"] or "") <= 253


@lru_cache(1024)
def _name_problem(name: str, *, of_pod: bool) -> str:
    if not _is_qualified(name):
        return f'Invalid value: "{name}": is not the name of a resource'
    if of_pod and not is_pod_level(name):
        return f'Unsupported value: "{name}": supported values: "cpu", "hugepages-", "memory"'
    if "/" not in name and not (name in ("cpu", "memory", "ephemeral-storage") or name.startswith("hugepages-")):
        return f'Invalid value: "{name}": must be a standard resource for containers'
    if "/" in name and "kubernetes.io/" not in name and not is_extended(name):
        return f'Invalid value: "{name}": doesn\'t follow extended resource name standard'
    return ""


def _amount_problem(name: str, amount: Quantity) -> str:
    if amount.sign < 0:
        return f'Invalid value: "{amount}": must be greater than or equal to 0'
    if is_extended(name) and amount.milli() % 1000:
        return f'Invalid value: "{amount}": must be an integer'
    if name.startswith("hugepages-") and not _whole_pages(name, amount):
        return f'Invalid value: "{amount}": {amount} is not positive integer multiple of {name}'
    return ""


def _whole_pages(name: str, amount: Quantity) -> bool:
    try:
        page = parse_quantity(name.removeprefix("hugepages-"))
    except QuantityError:
        return False
    return page.sign > 0 and page.milli() % 1000 == 0 and page.value() > 0 and amount.value() % page.value() == 0


def pod_level_problem(pod: Pod) -> ResourcesProblem | None:
    """Where the pod's own resources and those of its containers contradict each other; paths start at the spec."""
    if pod.resources is None:
        return None
    for name, total in container_requests(pod, sidecars=True).items():
        own = pod.resources.requests.get(name)
        if own is not None and total > own:
            message = (
                f'Invalid value: "{own}": must be greater than or equal to aggregate container requests of {total}'
            )
            return ResourcesProblem(("resources", "requests", name), message)
    for name, total in container_limits(pod, sidecars=True).items():
        own = pod.resources.limits.get(name)
        if own is not None and total > own and name.startswith("hugepages-"):
            message = f'Invalid value: "{own}": must be greater than or equal to aggregate container limits of {total}'
            return ResourcesProblem(("resources", "limits", name), message)
    for index, container in enumerate(pod.containers):
        for name, limit in container.limits.items():
            own = pod.resources.limits.get(name)
            if own is not None and limit > own:
                message = f'Invalid value: "{limit}": must be less than or equal to pod limits of {own}'
                return ResourcesProblem(("containers", index, "resources", "limits", name), message)
    return None
