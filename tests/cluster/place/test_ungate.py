"""The way out: all gates go."""

import json

from numafit.cluster.place.ungate import ungated
from tests.cluster.kube.scripted_server import Answer, Asked, refusal, scripted
from tests.cluster.place.played import run


def pod(name: str, *gates: str) -> dict[str, object]:
    meta = {"name": name, "namespace": "team", "uid": f"uid-{name}"}
    return {"metadata": meta, "spec": {"schedulingGates": [{"name": gate} for gate in gates]}}


def test_only_our_gate_goes_and_what_fails_is_said() -> None:
    pods = [
        pod("a", "numafit.io/place"),
        pod("b", "other", "numafit.io/place"),
        pod("c", "other"),
        pod("held", "numafit.io/hold"),
        pod("d"),
        pod("gone", "numafit.io/place"),
        pod("stubborn", "numafit.io/place"),
    ]

    def script(asked: Asked) -> Answer:
        if asked.method == "GET":
            return Answer(json.dumps({"metadata": {"resourceVersion": "1"}, "items": pods}).encode())
        patches[asked.target.partition("?")[0].rpartition("/")[2]] = json.loads(asked.content)[-1]["value"]
        if "gone" in asked.target:
            return refusal(404, "not found")
        return refusal(403, "you may not") if "stubborn" in asked.target else Answer()

    patches: dict[str, object] = {}
    said: list[str] = []

    async def test() -> None:
        async with scripted(script) as (_, api):
            assert await ungated(api, said.append) == 2

    run(test())
    assert patches == {"a": [], "b": [{"name": "other"}], "gone": [], "stubborn": []}
    assert said[0] == "pods with the gate numafit.io/hold of the guard: 1; numafit guard --release-all removes it"
    assert [text.partition(":")[0] for text in said[1:]] == ["team/stubborn"]
