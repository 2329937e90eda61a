"""Pods that ask for something else than those of a trace: whole CPUs, a GPU less, fewer CPUs for each GPU.

They come when they came and run as long as they did: what less would cost them in time nobody knows here.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence

from msgspec.structs import replace

from numafit.fleet.simulation.trace import TracePod
from numafit.quantity import Quantity
from numafit.workload.pod import Container, Pod

WHOLE_CPUS, ONE_GPU_FEWER, GUARANTEED = "whole-cpus", "one-gpu-fewer", "guaranteed"
AskedAmounts = Mapping[str, Quantity]
Reshape = Callable[[Container], Container]


def reshaped(pods: Sequence[TracePod], reshape: Reshape) -> tuple[TracePod, ...]:
    """Equal containers are reshaped once, and stay one value."""
    known: dict[int, Container] = {}
    found = []
    for own in pods:
        parts = [_known(known, each, reshape) for each in own.pod.containers]
        first = [_known(known, each, reshape) for each in own.pod.init_containers]
        found.append(replace(own, pod=_with(own.pod, parts, first)))
    return tuple(found)


def _known(known: dict[int, Container], container: Container, reshape: Reshape) -> Container:
    # By identity, which holds as long as the trace does: to compare amounts takes longer than to change them.
    key = id(container)
    if key not in known:
        known[key] = reshape(container)
    return known[key]


def _with(pod: Pod, containers: Sequence[Container], init: Sequence[Container]) -> Pod:
    if all(a is b for a, b in zip((*pod.containers, *pod.init_containers), (*containers, *init), strict=True)):
        return pod
    return replace(pod, containers=tuple(containers), init_containers=tuple(init))


def whole_cpus(container: Container) -> Container:
    """CPUs rounded up; a Guaranteed pod gets them for itself then."""
    return _each(container, lambda amounts: _changed(amounts, "cpu", lambda own: Quantity(own.value())))


def one_gpu_fewer(container: Container) -> Container:
    """Where there are several."""

    def fewer(amounts: AskedAmounts) -> AskedAmounts:
        for name in gpus_of(amounts):
            amounts = _changed(amounts, name, lambda own: Quantity(own.value() - 1) if own.value() > 1 else own)
        return amounts

    return _each(container, fewer)


def guaranteed(container: Container) -> Container:
    """Limits of CPUs and memory like the requests; where there is only a limit, that is the request."""
    asked = {name: container.requests.get(name) or container.limits.get(name) for name in ("cpu", "memory")}
    own = {name: amount for name, amount in asked.items() if amount is not None}
    requests, limits = {**container.requests, **own}, {**container.limits, **own}
    same = requests == container.requests and limits == container.limits
    return container if same else replace(container, requests=requests, limits=limits)


def at_most_per_gpu(cpus: int) -> Reshape:
    """No more CPUs than that for each GPU of the container; without GPUs it stays as it is."""

    def capped(container: Container) -> Container:
        gpus = sum(container.requests[name].value() for name in gpus_of(container.requests))
        if not gpus:
            return container
        most = Quantity(cpus * gpus)
        return _each(container, lambda amounts: _changed(amounts, "cpu", lambda own: most if own > most else own))

    return capped


def gpus_of(amounts: AskedAmounts) -> Iterator[str]:
    """Resources of GPUs, by their names: `nvidia.com/gpu`, `amd.com/gpu`, `gpu.intel.com/i915`."""
    for name in amounts:
        domain, slash, kind = name.rpartition("/")
        if slash and ("gpu" in kind or domain.startswith("gpu.")):
            yield name


def _each(container: Container, change: Callable[[AskedAmounts], AskedAmounts]) -> Container:
    requests, limits = change(container.requests), change(container.limits)
    if requests is container.requests and limits is container.limits:
        return container
    return replace(container, requests=requests, limits=limits)


def _changed(amounts: AskedAmounts, name: str, change: Callable[[Quantity], Quantity]) -> AskedAmounts:
    before = amounts.get(name)
    if before is None:
        return amounts
    after = change(before)
    return amounts if after == before else {**amounts, name: after}


RESHAPES: Mapping[str, Reshape] = {
    WHOLE_CPUS: whole_cpus,
    ONE_GPU_FEWER: one_gpu_fewer,
    GUARANTEED: guaranteed,
}
"""Those that need no number."""
