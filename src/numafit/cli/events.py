"""A small file of events: what happens on the node, one line each.

add default/web-0
remove default/web-0
reconcile            # one tick of the CPU manager's loop
restart              # the kubelet restarts
"""

from collections.abc import Sequence

from numafit.decision.simulation import Event
from numafit.errors import InputError
from numafit.workload.pod import Pod

CURE = "write add POD, remove POD, reconcile or restart"


def read_events(text: str, source: str, pods: Sequence[Pod]) -> list[Event]:
    """Pods that the file never adds are added first, in their order."""
    named = {name: pod for pod in pods for name in (pod.name, f"{pod.namespace}/{pod.name}")}
    events: list[Event] = []
    for number, line in enumerate(text.splitlines(), 1):
        words = line.partition("#")[0].split()
        if not words:
            continue
        kind, names = words[0], words[1:]
        if kind == "reconcile" and not names:
            events.append(Event("reconcile"))
        elif kind == "restart" and not names:
            events.append(Event("restart"))
        elif kind in ("add", "remove") and len(names) == 1:
            pod = named.get(names[0])
            if pod is None:
                raise InputError(f"there is no pod {names[0]}", source=source, line=number, cure="name one of PODS")
            events.append(Event("add" if kind == "add" else "remove", pod))
        else:
            raise InputError(f'"{line.strip()}" is not an event', source=source, line=number, cure=CURE)
    added = {event.pod.uid for event in events if event.kind == "add" and event.pod is not None}
    return [Event("add", pod) for pod in pods if pod.uid not in added] + events
