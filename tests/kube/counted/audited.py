"""What somebody did to pods, by the audit log of the API server: each request, and the pod as it stood after it.

A request that was under way when the API server was killed is not in it.
"""

import json
from pathlib import Path

import msgspec

from numafit.cluster.live.words import PLACED
from numafit.workload.served import ENDED
from tests.kube.api import Json
from tests.kube.control_plane import ControlPlane
from tests.kube.processes import until

API_SERVER = "kube-apiserver"
CHANGES = ["create", "update", "patch", "delete", "deletecollection"]


class AuditedObject(msgspec.Struct):
    """Which one was asked for."""

    name: str = ""
    subresource: str = ""


class AuditedStatus(msgspec.Struct):
    code: int = 0


class AuditEvent(msgspec.Struct):
    stage: str
    verb: str
    objectRef: AuditedObject = msgspec.field(default_factory=AuditedObject)
    responseStatus: AuditedStatus = msgspec.field(default_factory=AuditedStatus)
    requestObject: msgspec.Raw = msgspec.Raw(b"null")
    responseObject: msgspec.Raw = msgspec.Raw(b"null")

    @property
    def done(self) -> bool:
        return self.stage == "ResponseComplete" and 200 <= self.responseStatus.code < 300


def policy_for(user: str) -> Json:
    pods = [{"group": "", "resources": ["pods", "pods/*"]}]
    rule = {"level": "RequestResponse", "users": [user], "verbs": CHANGES, "resources": pods}
    return {
        "apiVersion": "audit.k8s.io/v1",
        "kind": "Policy",
        "omitStages": ["RequestReceived"],
        "rules": [rule, {"level": "None"}],
    }


def audit(cluster: ControlPlane, folder: Path, user: str) -> Path:
    """The API server starts again, and from then on writes down what that user does to pods; its log."""
    policy, log = folder / "audit-policy.json", folder / "audit.log"
    policy.write_text(json.dumps(policy_for(user)))
    process = cluster.processes[API_SERVER]
    assert isinstance(process.args, list)
    process.kill()
    process.wait()
    more = [f"--audit-policy-file={policy}", f"--audit-log-path={log}", "--audit-log-maxsize=1000"]
    cluster.start(API_SERVER, [*process.args, *more])
    until("the API server is ready", 60, lambda: cluster.probe.text("/readyz"))
    return log


def requests(log: Path) -> list[AuditEvent]:
    """Those that changed something. The last line may be cut off: its writer was killed."""
    found = []
    for line in log.read_bytes().splitlines() if log.exists() else ():
        try:
            event = msgspec.json.decode(line, type=AuditEvent)
        except msgspec.MsgspecError:
            continue
        if event.done:
            found.append(event)
    return found


def touching(events: list[AuditEvent]) -> list[str]:
    """Those that changed or deleted a pod that was bound and had not ended, as sentences. That a pod was released is
    written into its status, and may come there when it is bound already."""
    found = []
    for own in events:
        about = own.objectRef
        if about.subresource == "status" and _conditions(own) == {PLACED}:
            continue
        answer = msgspec.json.decode(own.responseObject)
        pod = answer if isinstance(answer, dict) and answer.get("kind") == "Pod" else None
        if pod is None:
            found.append(f"{own.verb} of {about.name} {about.subresource}: nobody knows how the pod stood")
        elif pod.get("spec", {}).get("nodeName") and pod.get("status", {}).get("phase") not in ENDED:
            found.append(f"{own.verb} of {about.name} {about.subresource}: it was bound, and had not ended")
    return found


def _conditions(own: AuditEvent) -> set[str]:
    asked = msgspec.json.decode(own.requestObject)
    status = asked.get("status", {}) if isinstance(asked, dict) else {}
    return {each["type"] for each in status.get("conditions", ())} if status.keys() == {"conditions"} else set()
