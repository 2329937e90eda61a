"""Pods that do not get the exclusive CPUs and the memory of their own that they look like asking for."""

from collections.abc import Iterator

from numafit.advice.lint.findings import Finding, finding
from numafit.advice.lint.pod.text import ContainerText, PodText, raw_list, raw_mapping
from numafit.settings.versions import Behaviour
from numafit.workload.pod import BURSTABLE, GUARANTEED, integral, qos_class
from numafit.workload.unread import NOBODY_ALIGNS


def qos_findings(text: PodText, behaviour: Behaviour) -> Iterator[Finding]:
    pod = text.pod
    if pod.resources is not None:
        return
    qos = qos_class(pod, pod_level=False, status=behaviour.status_qos)
    if qos == BURSTABLE:
        yield from _burstable(text)
    for container in text.containers:
        if qos == GUARANTEED:
            yield from _fraction(text, container)
            yield from _claimed_devices(text, container)
        yield from _lonely_devices(text, container)


def _burstable(text: PodText) -> Iterator[Finding]:
    whole = [each for each in text.containers if _whole(each)]
    losers = [each for each in whole if not _gaps(each)]
    for each in whole:
        for resource, gap in _gaps(each)[:1]:
            message = (
                f'container "{each.name}" asks for {_whole(each)} CPUs, but {gap}: the pod is Burstable '
                "and gets no exclusive CPUs and no memory of its own"
            )
            yield finding("NF310", text.amount_place(each, resource), message, _equal_cure(each))
    for each in text.containers if losers else ():
        for resource, gap in [] if each in whole else _gaps(each)[:1]:
            lost = " and ".join(f'"{loser.name}" its {_whole(loser)} exclusive CPUs' for loser in losers)
            message = f'container "{each.name}": {gap}, so the whole pod is Burstable; that costs container {lost}'
            yield finding("NF311", text.amount_place(each, resource), message, _equal_cure(each))


def _fraction(text: PodText, container: ContainerText) -> Iterator[Finding]:
    cpu = container.container.requests.get("cpu")
    if cpu is None or integral(cpu) or (cpu.milli() <= 1000 and not container.devices):
        return
    below, above = cpu.milli() // 1000, -(-cpu.milli() // 1000)
    message = (
        f'container "{container.name}" asks for {cpu} CPUs: with a fraction all of it runs in the shared pool, '
        "without exclusive CPUs and without a hint where they should be"
    )
    cure = f"ask for {below} or {above}" if below else f"ask for {above}"
    yield finding("NF312", text.amount_place(container, "cpu"), message, cure)


def _lonely_devices(text: PodText, container: ContainerText) -> Iterator[Finding]:
    cpu = container.container.requests.get("cpu")
    if (cpu is None or cpu.is_zero) and container.devices:
        resource, count = next(iter(container.devices.items()))
        message = (
            f'container "{container.name}" asks for {count} {resource} and for no CPUs: '
            "only the devices are placed, CPUs and memory may lie far from them"
        )
        cure = "add equal requests and limits of whole CPUs and of memory"
        yield finding("NF313", text.amount_place(container, resource), message, cure)


def _claimed_devices(text: PodText, container: ContainerText) -> Iterator[Finding]:
    claims = raw_list(raw_mapping(container.raw.get("resources")).get("claims"))
    names = [name for each in claims if isinstance(name := raw_mapping(each).get("name"), str)]
    if names and _whole(container):
        claimed = "claim" if len(names) == 1 else "claims"
        listed = ", ".join(f'"{name}"' for name in names)
        message = (
            f'container "{container.name}" has {_whole(container)} exclusive CPUs and the devices of its {claimed} '
            f"{listed}: {NOBODY_ALIGNS}"
        )
        cure = "let a device plugin offer them, or let claims give CPUs and devices by one matchAttribute of numaNode"
        yield finding("NF314", text.place((*container.path, "resources", "claims")), message, cure)


def _whole(container: ContainerText) -> int:
    cpu = container.container.requests.get("cpu")
    return 0 if cpu is None else integral(cpu)


def _gaps(container: ContainerText) -> list[tuple[str, str]]:
    """What keeps this container from being Guaranteed: the resource, and a few words."""
    requests, limits = container.container.requests, container.container.limits
    gaps = []
    for name, noun in (("cpu", "CPUs"), ("memory", "of memory")):
        request, limit = requests.get(name), limits.get(name)
        if limit is None or limit.is_zero:
            gaps.append((name, f"it has no limit of {name}"))
        elif request is None or request != limit:
            gaps.append((name, f"its limit is {limit} {noun} where it requests {request or 0}"))
    return gaps


def _equal_cure(container: ContainerText) -> str:
    values = []
    for name in ("cpu", "memory"):
        amount = container.container.requests.get(name) or container.container.limits.get(name)
        values.append(f"{name} {amount}" if amount is not None else name)
    return f"make requests and limits equal: {', '.join(values)}"
