"""What the result of a run tells of each event: verdicts, victims, resizes, state files, allocatable, a crash."""

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Literal, NamedTuple

import msgspec

from numafit.decision.decision import PREEMPTED, PREEMPTING
from numafit.decision.resize.verdict import DEFERRED, INFEASIBLE
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.replay.outcomes import Json

SeenKind = Literal["admission", "eviction", "resize"]

REJECTED = "Pod was rejected: "
"""What the kubelet puts before the message of a refusal in a pod's status."""
OK = 200
REFUSALS = {403: "Forbidden", 422: "Invalid"}
"""How the API server calls the statuses with which it refuses a resize."""

_FILES = {CPU_FILE: "cpu_manager_state", MEMORY_FILE: "memory_manager_state", DEVICE_FILE: "device_checkpoint"}
_ALIVE = ("Running", "Pending")
_KEYS = re.compile(r' (\w+)="((?:[^"\\]|\\.)*)"')


class Denial(NamedTuple):
    uid: str
    reason: str
    message: str
    resize: bool


def decisions_seen(steps: Sequence[Mapping[str, Any]], number: int, *, static: bool) -> Json:
    """At event `number`. `static`: the pods are those of a standalone kubelet, which tries refused ones again."""
    step = steps[number]
    if is_down(steps, number):
        return {"decisions": []}
    if "crash" in step:
        return {"crash": step["crash"]["text"]}
    before = steps[number - 1] if number else {}
    return {"decisions": [*_admissions(step, before, static), *_victims(step), *_resizes(step, before)]}


def is_down(steps: Sequence[Mapping[str, Any]], number: int) -> bool:
    """The kubelet has ended before this event, which does not start it again."""
    if steps[number].get("op") == "restart":
        return False
    turns = [step for step in steps[:number] if "crash" in step or step.get("op") == "restart"]
    return bool(turns) and "crash" in turns[-1]


def node_seen(steps: Sequence[Mapping[str, Any]], number: int) -> Json:
    """How the node stood after event `number`; nothing is told of one whose kubelet has ended."""
    step = steps[number]
    if "crash" in step or is_down(steps, number):
        return {}
    files = {file: step[name] for file, name in _FILES.items() if step.get(name)}
    if "op" not in step and MEMORY_FILE in files:
        # Runs without events were made on another boot of the machine, with some pages more or less, and looked at
        # before init containers had ended.
        del files[MEMORY_FILE]
    result: Json = {"files": files}
    if step.get("node_allocatable"):
        result["allocatable"] = step["node_allocatable"]
    if isinstance(step.get("pods"), dict):
        result |= {"allocated": _allocated(step), "waiting": _waiting(step)}
    return result


def _allocated(step: Mapping[str, Any]) -> Json:
    """Of the pods that are there: UID -> container -> resources, where the kubelet has written them down."""
    text = (step.get("allocated_pods_state") or {}).get("data")
    entries: Json = msgspec.json.decode(text)["entries"] if text else {}
    there = [uid for uid, name in _names(step).items() if step["pods"][name]["phase"] in _ALIVE]
    return {uid: entries[uid]["ContainerResources"] if uid in entries else None for uid in there}


def _waiting(step: Mapping[str, Any]) -> list[str]:
    """UIDs of the pods with a resize that is not allocated."""
    pods: Mapping[str, Any] = step.get("pods") or {}
    return sorted(pod["uid"] for pod in pods.values() if any(_pending(pod)))


def decision(
    uid: str, name: str, kind: SeenKind, admitted: bool = True, reason: str | None = None, message: str | None = None
) -> Json:
    """`name` without a namespace is in that of all runs."""
    return {
        "uid": uid,
        "pod": name if "/" in name else f"default/{name}",
        "kind": kind,
        "admitted": admitted,
        "reason": reason or "",
        "message": (message or "").removeprefix(REJECTED),
    }


def _admissions(step: Mapping[str, Any], before: Mapping[str, Any], static: bool) -> Iterator[Json]:
    """At a restart those that were there are admitted again. One that ran and is refused ends as Succeeded here.

    Those that are refused come last, in their order: the log tells that of no others.
    """
    denied = {denial.uid: denial for denial in denials(step) if not denial.resize}
    pods: Mapping[str, Any] = step.get("pods") or {}
    if step.get("op", "add") == "add":
        if "uid" in step:
            reason, message = step.get("reason"), step.get("message")
            yield decision(step["uid"], step["pod"], "admission", reason is None, reason, message)
        return
    if step["op"] != "restart":
        return
    there = before.get("pods") or {}
    gone = set(step.get("remove") or ())
    coming: list[str] = []
    for name in (*(name for name in there if name not in gone), *(step.get("add") or ())):
        if name in pods and (name not in there or static or there[name]["phase"] in _ALIVE):
            coming.append(name)
            if pods[name]["uid"] not in denied:
                yield decision(pods[name]["uid"], name, "admission")
    names = {pods[name]["uid"]: name for name in coming}
    for uid, denial in denied.items():
        if uid in names:
            yield decision(uid, names[uid], "admission", False, denial.reason, denial.message)


def _victims(step: Mapping[str, Any]) -> Iterator[Json]:
    names = _names(step)
    for fields in _logged(step, "Preempting pod to free up resources"):
        uid = fields["podUID"]
        yield decision(uid, names.get(uid, ""), "eviction", False, PREEMPTING, PREEMPTED)


def _resizes(step: Mapping[str, Any], before: Mapping[str, Any]) -> Iterator[Json]:
    """What waits is tried and refused many times: a refusal counts at the event that asked for it."""
    names = _names(step)
    uids = {f"default/{name}": uid for uid, name in names.items()}
    allocated = {uids[fields["pod"]] for fields in _logged(step, "Pod resize successfully allocated")}
    for uid in sorted(allocated, key=lambda uid: names[uid]):
        yield decision(uid, names[uid], "resize")
    uid = uids.get(f"default/{step.get('pod')}", "")
    answer = step.get("api") or {}
    if step.get("op") != "resize" or uid in allocated or answer.get("same"):
        # where the pod asks for all of that already, the kubelet hears of nothing
        return
    refused = next((denial for denial in denials(step) if denial.resize and denial.uid == uid), None)
    status = answer.get("status", OK)
    if status != OK:
        yield decision(uid, step["pod"], "resize", False, REFUSALS.get(status, str(status)), answer["message"])
    elif refused is not None:
        # the log has the reason of whoever refused it, the pod's condition says that it waits
        reason = INFEASIBLE if refused.reason == INFEASIBLE else DEFERRED
        yield decision(uid, step["pod"], "resize", False, reason, refused.message)
    elif pending := next(_pending(step["pods"].get(step["pod"]) or {}), None):
        # 1.35 and older log some refusals otherwise
        yield decision(uid, step["pod"], "resize", False, pending["reason"], pending["message"])
    elif uid in _waiting(before):
        # back to what is allocated: there is nothing to allocate, and nothing waits any more
        yield decision(uid, step["pod"], "resize")


def _pending(pod: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    return (condition for condition in pod.get("resize") or () if condition["type"] == "PodResizePending")


def denials(step: Mapping[str, Any]) -> Iterator[Denial]:
    for fields in _logged(step, "Pod admission denied"):
        resize = fields.get("operation") == "resize"
        yield Denial(fields["podUID"], fields["reason"], fields["message"], resize)


def _names(step: Mapping[str, Any]) -> dict[str, str]:
    pods: Mapping[str, Any] = step.get("pods") or {}
    return {pod["uid"]: name for name, pod in pods.items()} if isinstance(pods, dict) else {}


def _logged(step: Mapping[str, Any], text: str) -> Iterator[dict[str, str]]:
    for line in step.get("log") or ():
        if f'"{text}"' in line:
            # what klog quotes here is quoted alike in JSON
            yield {key: msgspec.json.decode(f'"{value}"') for key, value in _KEYS.findall(line)}
