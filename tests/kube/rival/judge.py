"""What becomes of the pods of the cases: with a scheduler that decides, and bound by hand, so that a kubelet does."""

import time
from pathlib import Path

from tests.kube.api import Api, Json
from tests.kube.counted.fleet import HOLDERS
from tests.kube.counted.owners import SPACE
from tests.kube.counted.ways import BEGIN, standing
from tests.kube.placing import reported
from tests.kube.processes import until
from tests.kube.rival.cases import CASE, CASES, group

LOOK_SECONDS = 15.0
"""Three turns of the rival's cache: who waits then waits for good."""
WAITS, RAN, REJECTED = "waits", "ran", "rejected"


def judged(way: str, folder: Path, binaries: Path) -> tuple[dict[str, str], dict[str, str]]:
    """Case -> what became of its pod that way, and of the same pod where it was bound by hand."""
    with standing(way, folder, binaries, [group(case) for case in CASES]) as own:
        api = own.cluster.api
        _space(api, HOLDERS, disabled=True)
        _space(api, SPACE)
        for case in CASES:
            for index, holder in enumerate(case.holders):
                _make(api, HOLDERS, f"{case.name}-{index}", {**holder, "nodeName": case.name})
                # One after the other: where each sits is part of the case.
                until("it runs", 30, lambda name=f"{case.name}-{index}": _end_of(api, HOLDERS, name) == RAN)
        there = {pod["metadata"]["uid"] for pod in api.pods(HOLDERS).values()}
        until("they are reported", 30, lambda: there <= reported(api))
        BEGIN[way](own)
        for case in CASES:
            _make(api, SPACE, case.name, {**case.pod, "nodeSelector": {CASE: case.name}})
        end = time.monotonic() + LOOK_SECONDS
        while time.monotonic() < end:
            time.sleep(0.5)
            own.check()
        found = {case.name: _end_of(api, SPACE, case.name) for case in CASES}
        for case in CASES:
            api.delete(f"/api/v1/namespaces/{SPACE}/pods/{case.name}")
        until("all are gone", 30, lambda: not api.pods(SPACE))
        # Until the kubelets have cleaned up.
        time.sleep(2)
        for case in CASES:
            _make(api, HOLDERS, case.name, {**case.pod, "nodeName": case.name})
        until("all were judged", 30, lambda: all(_end_of(api, HOLDERS, case.name) != WAITS for case in CASES))
        return found, {case.name: _end_of(api, HOLDERS, case.name) for case in CASES}


def _space(api: Api, name: str, *, disabled: bool = False) -> None:
    labels = {"numafit.io/place": "disabled"} if disabled else {}
    api.post("/api/v1/namespaces", {"metadata": {"name": name, "labels": labels}})


def _make(api: Api, space: str, name: str, spec: Json) -> None:
    api.post(f"/api/v1/namespaces/{space}/pods", {"metadata": {"name": name}, "spec": spec})


def _end_of(api: Api, space: str, name: str) -> str:
    pod = api.get(f"/api/v1/namespaces/{space}/pods/{name}")
    phase = (pod or {"status": {}})["status"].get("phase")
    return {"Running": RAN, "Failed": REJECTED}.get(phase, WAITS)
