"""One event: how the node stands after it, and what the kubelet decided at it."""

from msgspec.structs import replace

from numafit.decision.decide import load_of
from numafit.decision.history.coming import ChoicesMaker, Outcome, add_pods
from numafit.decision.history.event import (
    AddPods,
    Beginning,
    Event,
    ExitContainer,
    ForgetPlugin,
    ListCapacity,
    ListDevices,
    Reconcile,
    RemovePods,
    ResizePod,
    RestartKubelet,
    StartKubelet,
    StartPlugin,
    StopKubelet,
    StopPlugin,
)
from numafit.decision.history.restart import restart
from numafit.decision.history.situation import Situation, pod_there, without_pod
from numafit.decision.history.step import Step
from numafit.decision.life import list_devices, reconcile, start_containers
from numafit.decision.resize.queue import Asked, Resized, resize_pod, resizes_after_restart, retry_resizes
from numafit.errors import StartError
from numafit.machine.model import Device
from numafit.managers.device.plugin import plugins_of
from numafit.managers.device.registration import forgotten
from numafit.managers.protocol import WatchedChoices
from numafit.quantity import quantity_of
from numafit.workload.pod import Pod


def happen(situation: Situation, event: Event, choices: ChoicesMaker = WatchedChoices) -> Outcome:
    outcome = _outcome(situation, event, choices)
    if outcome.situation.unstarted and not outcome.situation.down:
        return replace(outcome, situation=_started(outcome.situation))
    return outcome


def _outcome(situation: Situation, event: Event, choices: ChoicesMaker) -> Outcome:
    match event:
        case AddPods(pods, former):
            taken = [pod for pod in pods if pod.uid in former and _is_there(situation, former[pod.uid])]
            if taken:
                outcome = happen(situation, AddPods(tuple(pod for pod in pods if pod not in taken)), choices)
                names = ", ".join(pod.full_name for pod in taken)
                return replace(outcome, void=f"{names} {'is' if len(taken) == 1 else 'are'} there already")
            outcome = add_pods(situation, pods, choices)
            return _retried(outcome, choices) if any(map(_ends_somebody, outcome.steps)) else outcome
        case RemovePods(pods, absent):
            for pod in pods:
                situation = without_pod(situation, pod_there(situation, pod).uid)
            void = f"{', '.join(absent)} {'is' if len(absent) == 1 else 'are'} not there" if absent else ""
            return _retried(Outcome(situation, void=void), choices)
        case Reconcile():
            if situation.down:
                return Outcome(situation, void="the kubelet is down")
            return Outcome(replace(situation, ledger=reconcile(situation.node, situation.ledger)))
        case StopKubelet():
            return Outcome(replace(situation, down=True), void="it is down already" if situation.down else "")
        case StartKubelet(how):
            return _start(situation, how, choices) if situation.down else Outcome(situation, void="it runs already")
        case RestartKubelet(how):
            return _start(situation, how, choices)
        case ListDevices(resource, devices):
            if resource not in situation.plugins:
                return Outcome(situation, void=f"no plugin of {resource} runs (plugin-start starts one)")
            return Outcome(_listed(situation, resource, devices))
        case StartPlugin(resource, devices, again):
            if again and resource not in situation.node.device.plugins:
                return Outcome(situation, void=f"no plugin of {resource} was there (plugin-start starts one)")
            return Outcome(_listed(situation, resource, devices))
        case StopPlugin(resource):
            return _stop_plugin(situation, resource)
        case ForgetPlugin(resource):
            return _forget_plugin(situation, resource)
        case ExitContainer(pod, container):
            return _exit(situation, pod_there(situation, pod), container)
        case ResizePod(pod, container, requests, limits):
            return _resize(situation, Asked(pod_there(situation, pod), container, requests, limits), choices)
        case ListCapacity(resource, amount):
            return Outcome(replace(situation, listed={**situation.listed, resource: amount}))


# --- pods ------------------------------------------------------------------------------------------------------------


def _is_there(situation: Situation, uid: str) -> bool:
    return uid in situation.ledger.active or any(pod.uid == uid for pod in situation.waiting)


def _exit(situation: Situation, pod: Pod, container: str) -> Outcome:
    if pod.uid not in situation.ledger.active:
        return Outcome(situation, void=f"{pod.full_name} does not run")
    others = tuple(item for item in situation.unstarted if item[0] != pod.uid)
    waiting = next((names for uid, names in situation.unstarted if uid == pod.uid), ())
    if container in waiting:
        return Outcome(situation, void=f"container {container} of {pod.full_name} does not run")
    if any(own.name == container and not own.restartable for own in pod.init_containers):
        return Outcome(situation, void=f"container {container} of {pod.full_name} has ended already")
    return Outcome(replace(situation, unstarted=(*others, (pod.uid, (*waiting, container)))))


def _started(situation: Situation) -> Situation:
    """What waits to be started is tried, and tried again after each event."""
    ledger = situation.ledger
    unstarted = []
    for uid, names in situation.unstarted:
        ledger, left = start_containers(situation.node, ledger, uid, names)
        if left:
            unstarted.append((uid, left))
    return replace(situation, ledger=ledger, unstarted=tuple(unstarted))


# --- resizes ---------------------------------------------------------------------------------------------------------


def _resize(situation: Situation, asked: Asked, choices: ChoicesMaker) -> Outcome:
    resized = resize_pod(
        situation.node,
        situation.ledger,
        asked,
        situation.offered,
        situation.resizes,
        choices,
        down=situation.down,
    )
    outcome = _resized(situation, resized)
    if outcome.steps or situation.down:
        return outcome
    runs = asked.pod.uid in situation.ledger.active
    why = "has these resources already" if runs else "does not run"
    if runs and asked.pod.uid in situation.resizes:
        why = "is to have these resources already"
    return replace(outcome, void=f"{asked.pod.full_name} {why}")


def _ends_somebody(step: Step) -> bool:
    """The API server hears of a pod that ended: one that is refused, or goes for another."""
    decision = step.decision
    return bool(decision.evicted) or not (decision.admitted or decision.pod.static)


def _retried(outcome: Outcome, choices: ChoicesMaker) -> Outcome:
    """Somebody has ended: resizes that wait are tried again, with all that a try cleans up.

    Beside a pod that is refused nothing has freed, and that the others still wait is not told.
    """
    situation = outcome.situation
    if situation.down or not situation.resizes:
        return outcome
    node, ledger = situation.node, situation.ledger
    after = _resized(situation, retry_resizes(node, ledger, situation.resizes, situation.offered, choices))
    freed = not outcome.steps or any(step.decision.evicted for step in outcome.steps)
    told = [step for step in after.steps if freed or step.decision.admitted or step.decision.panic]
    return replace(after, steps=(*outcome.steps, *told), void=outcome.void)


def _resized(situation: Situation, resized: Resized) -> Outcome:
    node = situation.node
    for victim in (gone for decision in resized.decisions for gone in decision.evicted):
        situation = without_pod(situation, victim.pod.uid)
    steps = tuple(
        Step(tried.decision, tried.decision.ledger, tried.before, tuple(tried.choices.draws), "resize", node)
        for tried in resized.tries
    )
    load = load_of(node.settings, resized.ledger.active.values()) if steps else situation.load
    crash = next((step.decision.panic for step in steps if step.decision.panic), "")
    down = situation.down or bool(crash)
    after = replace(situation, ledger=resized.ledger, load=load, resizes=resized.pending, down=down)
    return Outcome(after, steps, crash)


# --- the kubelet -----------------------------------------------------------------------------------------------------


def _start(situation: Situation, how: Beginning, choices: ChoicesMaker) -> Outcome:
    try:
        restarted = restart(situation, how, choices)
    except StartError as error:
        idle = situation.unstarted
        if how.reboot:
            idle = tuple(
                (uid, tuple(own.name for own in pod.all_containers)) for uid, pod in situation.ledger.active.items()
            )
        return Outcome(replace(situation, down=True, unstarted=idle), crash=error.message, refusal=error)
    after = restarted.situation
    steps = []
    for decision, own in restarted.decisions:
        draws = (*(restarted.order.draws if decision.pod.static else ()), *own.draws)
        steps.append(Step(decision, after.ledger, None, draws, "restart", after.node))
    crash = steps[-1].decision.panic if steps else ""
    if crash or not after.resizes:
        return Outcome(after, tuple(steps), crash)
    pending = resizes_after_restart(after.node, after.ledger, after.resizes, after.offered, choices)
    outcome = _resized(after, pending)
    # What was refused before, and could not have changed, is refused again half a minute later: nothing is new in it.
    known = not situation.down and how.config is None
    told = [step for step in outcome.steps if not known or step.decision.admitted or step.decision.panic]
    return replace(outcome, steps=(*steps, *told))


# --- plugins ---------------------------------------------------------------------------------------------------------


def _listed(situation: Situation, resource: str, devices: tuple[Device, ...]) -> Situation:
    node = situation.node
    plugin = node.device.plugins.get(resource)
    if plugin is None or (plugin.minors and any(device.id not in plugin.minors for device in devices)):
        # The links of those that the machine knows are known, too.
        known = {device.id: device for device in node.machine.devices if device.resource == resource}
        own = tuple(known.get(device.id, device) for device in devices)
        new = plugins_of(replace(node.machine, devices=own))
        node = replace(node, device=replace(node.device, plugins={**node.device.plugins, **new}))
    situation = replace(situation, node=node, plugins={**situation.plugins, resource: devices})
    if situation.down:
        return situation
    return replace(situation, ledger=list_devices(node, situation.ledger, resource, devices))


def _stop_plugin(situation: Situation, resource: str) -> Outcome:
    if resource not in situation.plugins:
        return Outcome(situation, void=f"no plugin of {resource} runs")
    rest = {other: devices for other, devices in situation.plugins.items() if other != resource}
    situation = replace(situation, plugins=rest)
    if situation.down:
        return Outcome(situation)
    ledger = situation.ledger
    device = situation.node.device.stopped(ledger.device, resource)
    return Outcome(replace(situation, ledger=replace(ledger, device=device)))


def _forget_plugin(situation: Situation, resource: str) -> Outcome:
    ledger = situation.ledger
    if situation.down:
        return Outcome(situation, void="the kubelet is down")
    if resource in ledger.device.connected:
        return Outcome(situation, void=f"the plugin of {resource} is there")
    if resource not in ledger.device.healthy:
        return Outcome(situation, void=f"the kubelet knows no plugin of {resource}")
    # The node object keeps the name, with 0, until somebody lists it again.
    listed = {**situation.listed, resource: quantity_of(0)}
    return Outcome(replace(situation, ledger=replace(ledger, device=forgotten(ledger.device, resource)), listed=listed))
