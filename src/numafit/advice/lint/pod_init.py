"""Init containers and sidecars that decide about the placement of the containers people care about."""

from collections.abc import Iterator

from numafit.advice.lint.codes import finding
from numafit.advice.lint.finding import Finding
from numafit.advice.lint.pod_node import Surroundings
from numafit.advice.lint.pod_text import PodText


def init_findings(text: PodText, around: Surroundings) -> Iterator[Finding]:
    ask = around.asked(text)
    settings = around.settings
    apart = settings is not None and settings.topology_policy != "none" and settings.topology_scope == "container"
    apps = sum(ask.cpus[container.name] for container in text.pod.containers)
    pinned = [each for each in text.containers if not each.init and (ask.cpus[each.name] or each.devices)]
    for each in text.containers:
        if not each.init:
            continue
        cpus = ask.cpus[each.name]
        place = text.amount_place(each, "cpu")
        sidecar = each.container.restartable
        if sidecar and each.name in ask.ordinary_init:
            message = (
                f'kubelet 1.{around.version.minor} takes "{each.name}" for an ordinary init container: '
                "what it holds is handed on to the next containers, which wait for its end"
            )
            where = text.place((*each.path, "restartPolicy"))
            yield finding("NF335", where, message, "run it as an ordinary container, or use 1.29 or later")
        elif sidecar and apart and (cpus or each.devices) and pinned:
            message = (
                f'sidecar "{each.name}" is placed for itself in the container scope, and may lie on another NUMA node '
                f'than "{pinned[0].name}"'
            )
            yield finding("NF334", place, message, "set topologyManagerScope: pod, or give it a fraction of a CPU")
        elif not sidecar and around.static is not False and cpus > apps:
            message = (
                f'init container "{each.name}" asks for {cpus} exclusive CPUs, all others together for {apps}: '
                "it decides whether the pod is admitted and on which NUMA nodes it lies"
            )
            cure = f"ask for {apps} or fewer" if apps else "ask for a fraction of a CPU, such as 500m"
            yield finding("NF334", place, message, cure)
