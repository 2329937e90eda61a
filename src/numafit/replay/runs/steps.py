"""The events of a run in the words of an event file (`simulate --events`)."""

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from numafit.replay.outcomes import Json

RECONCILE = "reconcile"
UNSAID = ("edit", "meminfo", "offline")
"""What happens to a node while its kubelet is down, and has no word in an event file."""
BASE = "kubelet-config.json"


class RunStep(msgspec.Struct, frozen=True):
    """One event of a run: the lines that say it. What was seen after it is seen after the last of them."""

    number: int
    """Among the events of the case."""
    lines: tuple[str, ...]
    decides: int
    """The line at which the kubelet decides."""


class Played(msgspec.Struct, frozen=True):
    """How much of a run can be said."""

    steps: tuple[RunStep, ...]
    configs: Mapping[str, Json]
    """File name -> the configuration that a restart takes."""
    left_out: str = ""
    """Why the run ends before its last event; empty where it does not."""


def played(case: Mapping[str, Any], base: Mapping[str, Any]) -> Played:
    """`base` is the configuration that the run began with.

    Where the CPU manager ticks every second an event was given longer than that, and ends with a tick; pods of a case
    without events came quicker.
    """
    tick = (RECONCILE,) if case.get("events") and base.get("cpuManagerReconcilePeriod") == "1s" else ()
    steps: list[RunStep] = []
    configs: dict[str, Json] = {}
    config_now = BASE
    named = {pod["metadata"]["name"]: pod for pod in case.get("pods") or ()}
    for number, event in enumerate(events_of(case)):
        unsaid = [word for word in UNSAID if event.get(word)]
        if event["op"] == "start" or unsaid:
            what = unsaid[0] if unsaid else "start"
            return Played(tuple(steps), configs, f"no word of an event file says event {number}: {what}")
        if event["op"] == "restart":
            config = f"config-{number}.json" if event.get("config") else BASE
            configs[config] = changed(base, event.get("config") or {})
            lines = _restart(event, config if config != config_now else "")
            config_now = config
            decides = len(lines) - 1
            lines += _ended(event.get("add") or (), named)
        else:
            lines = _lines(event, named)
            decides = 0
        steps.append(RunStep(number, (*lines, *tick), decides))
    return Played(tuple(steps), configs)


def events_of(case: Mapping[str, Any]) -> Sequence[Mapping[str, Any]]:
    """A case without events adds its pods, one after the other."""
    own: Sequence[Mapping[str, Any]] | None = case.get("events")
    return own or [{"op": "add", "pod": pod["metadata"]["name"]} for pod in case.get("pods") or ()]


def changed(base: Mapping[str, Any], overrides: Mapping[str, Any]) -> Json:
    """A configuration with other fields; null removes one."""
    return {name: value for name, value in {**base, **overrides}.items() if value is not None}


def _restart(event: Mapping[str, Any], config: str) -> list[str]:
    options = ""
    if event.get("plugins", "first") != "first":
        options += f" plugins={event['plugins']}"
    if config:
        options += f" config={config}"
    if event.get("reboot"):
        options += " reboot"
    if not event.get("add") and not event.get("remove"):
        return [f"restart{options}"]
    lines = ["stop"]
    for word in ("remove", "add"):
        if event.get(word):
            lines.append(f"{word} {' '.join(event[word])}")
    return [*lines, f"start{options}"]


def _ended(names: Sequence[str], named: Mapping[str, Mapping[str, Any]]) -> list[str]:
    """Pods that came and have ended by themselves when the kubelet comes to rest."""
    own = [name for name in names if name in named and ends_at_once(named[name])]
    return [f"remove {' '.join(own)}"] if own else []


def _lines(event: Mapping[str, Any], named: Mapping[str, Mapping[str, Any]]) -> list[str]:
    match event["op"]:
        case "add":
            name = event["pod"]
            return [f"add {name}", *_ended([name], named)]
        case "remove":
            return [f"remove {' '.join(event['pods'])}"]
        case "devices" | "plugin-start" | "plugin-restart":
            return [f"{event['op']} {event['resource']} {','.join(event['devices'])}".rstrip()]
        case "plugin-stop":
            return [f"plugin-stop {event['resource']}"]
        case "resize":
            amounts = [
                f"{kind}.{resource}={amount}"
                for kind, own in event["resources"].items()
                for resource, amount in own.items()
            ]
            return [f"resize {event['pod']} {event['container']} {' '.join(amounts)}"]
        case "exit":
            container = event.get("container") or named[event["pod"]]["spec"]["containers"][0]["name"]
            return [f"exit {event['pod']} {container}"]
        case _:
            return [f"capacity {event['resource']}={event['amount']}"]


def ends_at_once(pod: Mapping[str, Any]) -> bool:
    """All its containers end with 0, and are not started again."""
    spec = pod["spec"]
    ending = all((container.get("command") or [""])[0] == "exit-0" for container in spec["containers"])
    return ending and spec.get("restartPolicy", "Always") != "Always"
