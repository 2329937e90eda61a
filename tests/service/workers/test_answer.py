"""The API answers with the JSON of the command line, and as its document says."""

import asyncio
import json
import re
from collections.abc import Mapping
from itertools import count
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from numafit.__main__ import main
from numafit.errors import InputError
from numafit.service.api import handlers
from numafit.service.node import Snapshot
from numafit.service.sources.demo import Demo
from numafit.service.workers import answer as worker_answer
from numafit.service.workers.answer import ANSWERS
from numafit.service.workers.pool import Lane
from numafit.service.workers.question import BODIES
from numafit.service.workers.scene import Scenes
from numafit.show.records.advice import AdviseAnswer
from numafit.show.records.comparison import CompareAnswer
from numafit.show.records.fit import FitAnswer
from numafit.show.records.lint import LintAnswer
from numafit.show.records.log import LogAnswer
from numafit.show.records.simulation import SimulateAnswer
from numafit.show.records.story import ExplainAnswer
from numafit.show.records.whatif import WhatIfAnswer
from tests.service.agents import POD, ROOT, asked, client_of, demo_agent

BOX = ROOT / "examples" / "gpu-box"
LOG = ROOT / "examples" / "small-node" / "recreate-loop.log"
PODS = (BOX / "pods.yaml").read_text()
KUBELET = (BOX / "kubelet.yaml").read_text()


def scenes() -> Scenes:
    """An idle node of the catalogue, and all the time that an answer may need."""
    place = Demo().place
    found = Scenes(Snapshot(place, place.stage()))
    found.seconds = 1e9
    return found


def answer(kind: str, body: Mapping[str, Any]) -> Any:
    question = msgspec.json.decode(json.dumps(body), type=BODIES[kind])
    return msgspec.json.decode(msgspec.json.encode(ANSWERS[kind](scenes(), question)))


def read_as(value: object, shape: type) -> None:
    """No field more or less, none of another type, and all in their order."""
    data = msgspec.json.encode(value)
    assert msgspec.json.encode(msgspec.json.decode(data, type=shape)) == data


def printed(capsys: pytest.CaptureFixture[str], *arguments: str) -> Any:
    assert main([*arguments, "-o", "json"]) in (0, 1)
    return json.loads(capsys.readouterr().out)


PLACE = {"machine": "gpu8-128cpu", "kubelet": KUBELET}
OPTIONS = ("--machine", "gpu8-128cpu", "--kubelet", str(BOX / "kubelet.yaml"))
MANIFEST = str(BOX / "pods.yaml")


@pytest.mark.parametrize("kind", ["simulate", "explain", "advise", "fit"])
def test_a_question_is_answered_as_the_command_of_its_name(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    """The very JSON of `numafit simulate -o json` and so on, on an idle node."""
    assert answer(kind, {**PLACE, "pods": PODS}) == printed(capsys, kind, *OPTIONS, MANIFEST)


def test_variants_are_counted_as_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`numafit fit --compare`."""
    expected = printed(capsys, "fit", "--compare", *OPTIONS, MANIFEST)
    assert answer("fit", {**PLACE, "pods": PODS, "compare": True}) == expected


def test_two_kubelets_are_compared_as_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`left` is what the command gets, `right` what its --with options say."""
    expected = printed(capsys, "compare", *OPTIONS, "--with-kube-version", "1.27", MANIFEST)
    body = {"left": PLACE, "right": {**PLACE, "version": "1.27"}, "pods": PODS}
    assert answer("compare", body) == expected


def test_a_right_kubelet_that_does_not_start_is_told(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    """That is an answer, no problem."""
    broken = KUBELET.replace("single-numa-node", "single-numa")
    other = tmp_path / "kubelet.yaml"
    other.write_text(broken)
    expected = printed(capsys, "compare", *OPTIONS, "--with-kubelet", str(other), MANIFEST)
    body = {"left": PLACE, "right": {**PLACE, "kubelet": broken}, "pods": PODS}
    found = answer("compare", body)
    assert found.pop("place") == "kubelet:4:24: topologyManagerPolicy"
    assert expected.pop("place") == f"{other}:4:24: topologyManagerPolicy"
    assert found == expected
    assert expected["starts"] is False


def test_files_are_linted_as_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """Under the names that they were given."""
    files = [ROOT / "examples" / "guides" / name for name in ("kubelet-wrong.yaml", "pods.yaml")]
    expected = printed(capsys, "lint", "--machine", "gpu8-128cpu", *map(str, files))
    body = {"machine": "gpu8-128cpu", "files": [{"name": str(path), "text": path.read_text()} for path in files]}
    assert answer("lint", body) == expected


def test_a_log_is_told_as_by_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    """`numafit explain --log --all`."""
    expected = printed(capsys, "explain", "--all", "--log", str(LOG))
    assert msgspec.json.decode(msgspec.json.encode(ANSWERS["log"](scenes(), LOG.read_bytes()))) == expected


@pytest.mark.parametrize("machine", ["gpu8-128cpu", "laptop", "gb200"])
@pytest.mark.parametrize(
    ("kind", "shape"),
    [("simulate", SimulateAnswer), ("explain", ExplainAnswer), ("advise", AdviseAnswer), ("fit", FitAnswer)],
)
def test_an_answer_has_the_shape_of_the_document(kind: str, shape: type, machine: str) -> None:
    """What the OpenAPI document says of an answer holds for real ones: no field more, none less."""
    read_as(answer(kind, {"machine": machine, "pods": PODS}), shape)


def test_other_answers_have_the_shape_of_the_document() -> None:
    """Comparison, variants, lint and log."""
    body = {"left": PLACE, "right": {**PLACE, "version": "1.27"}, "pods": PODS}
    read_as(answer("compare", body), CompareAnswer)
    read_as(answer("fit", {**PLACE, "pods": PODS, "compare": True}), FitAnswer)
    text = (ROOT / "examples/guides/kubelet-wrong.yaml").read_text()
    read_as(answer("lint", {"files": [{"name": "kubelet.yaml", "text": text}]}), LintAnswer)
    log = msgspec.json.decode(msgspec.json.encode(ANSWERS["log"](scenes(), LOG.read_bytes())))
    read_as(log, LogAnswer)


def test_a_what_if_holds_decisions_stories_ledger_and_advice() -> None:
    """One answer for the page, without state files; the new pods are marked among the holders."""

    async def talk(client: httpx.AsyncClient) -> Any:
        response = await client.post("/api/v1/whatif", json={"pods": PODS, "empty": True})
        assert response.status_code == 200
        return response.json()

    found = asked(talk)
    read_as(found, WhatIfAnswer)
    expected = answer("simulate", {"pods": PODS})["decisions"]
    assert found["decisions"] == [{name: one[name] for name in one if not name.startswith("files")} for one in expected]
    assert found["advice"] == answer("advise", {"pods": PODS})
    assert {holder["name"] for holder in found["ledger"]["holders"] if holder["new"]} == {
        story["pod"] for story in found["stories"] if story["admitted"]
    }


def test_a_what_if_without_advice_is_asked_for_once() -> None:
    """The decision alone is many times quicker."""

    async def talk(client: httpx.AsyncClient) -> Any:
        return (await client.post("/api/v1/whatif", json={"pods": PODS, "advice": False})).json()

    assert asked(talk)["advice"] is None


def test_what_a_rejected_pod_leaves_behind_is_called_by_its_name_and_not_new() -> None:
    """In the container scope the first container has its CPUs when the second one is rejected."""
    limits = ['{cpu: "8", memory: 1Gi}', '{cpu: "100", memory: 1Gi}']
    containers = "".join(
        f"  - {{name: c{i}, image: x, resources: {{limits: {each}}}}}\n" for i, each in enumerate(limits)
    )
    pod = f"apiVersion: v1\nkind: Pod\nmetadata: {{name: parts}}\nspec:\n  containers:\n{containers}"
    settings = {"policy": "single-numa-node", "scope": "container"}
    found = answer("whatif", {"pods": pod, "settings": settings, "advice": False})
    assert [story["admitted"] for story in found["stories"]] == [False]
    assert [(one["name"], one["new"], one["gone"]) for one in found["ledger"]["holders"]] == [
        ("default/parts", False, True)
    ]


NAMED = "train"
EVENTS = "restart\nstop\nadd train\nstart reboot plugins=late\n"


def test_a_question_may_hold_events(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """With the answer of the command line; a what-if tells all stories beside them."""
    (tmp_path / "events").write_text(EVENTS)
    body = {**PLACE, "pods": PODS, "version": "1.36", "events": EVENTS}
    options = [*OPTIONS, "--kube-version", "1.36", "--events", str(tmp_path / "events"), MANIFEST]
    simulated = answer("simulate", body)
    read_as(simulated, SimulateAnswer)
    assert simulated == printed(capsys, "simulate", *options)
    explained = answer("explain", {**body, "pod": NAMED})
    read_as(explained, ExplainAnswer)
    assert explained == printed(capsys, "explain", *options, "--pod", NAMED)
    asked_if = answer("whatif", body)
    read_as(asked_if, WhatIfAnswer)
    assert [event["event"] for event in asked_if["events"]] == [event["event"] for event in simulated["events"]]
    assert [story["pod"] for story in asked_if["stories"]] == [one["pod"] for one in simulated["decisions"]]


def test_a_run_says_of_each_decision_how_its_pod_came_to_lie() -> None:
    """Three pods of 40 CPUs on two NUMA nodes of 64: what is left of both together makes the third lie apart."""
    manifest = POD.replace(', nvidia.com/gpu: "1"', "").replace('cpu: "8"', 'cpu: "40"')
    pods = "---\n".join(manifest.replace("asked", name) for name in ("one", "two", "three", "four"))
    events = "add one\nadd two\nadd three\nadd four\n"
    body = {"machine": "gpu8-128cpu", "pods": pods, "settings": {"policy": "best-effort"}, "events": events}
    stories = answer("whatif", body)["stories"]
    assert [story.get("alignment", {}).get("verdict") for story in stories] == ["aligned", "aligned", "split", None]


@pytest.mark.parametrize(
    ("events", "problem"),
    [
        ("restart config=/etc/passwd", '"config=/etc/passwd" is no way to start'),
        ("reconcile\n" * 1001, "at most 1000 are played"),
    ],
)
def test_events_of_a_question_read_no_files_and_have_an_end(events: str, problem: str) -> None:
    with pytest.raises(InputError, match=re.escape(problem)):
        answer("simulate", {**PLACE, "pods": PODS, "events": events})


def advised(body: Mapping[str, Any], trials: int) -> Any:
    """With so many looks at the clock until nothing more is tried; a wall clock would tell of the machine."""
    found, clock = scenes(), count()
    found.clock, found.seconds = lambda: float(next(clock)), trials / worker_answer.ADVICE_SHARE
    question = msgspec.json.decode(json.dumps(body), type=BODIES["advise"])
    return msgspec.json.decode(msgspec.json.encode(ANSWERS["advise"](found, question)))


def cut_of(found: Any) -> list[str]:
    return [note["about"] for note in found["notes"] if note["code"] == "advice-cut-short"]


def test_advice_that_takes_long_is_given_as_far_as_it_came() -> None:
    """One pod that takes long does not lose what was found for it; each pod that was not looked at is named."""
    body = {**PLACE, "pods": PODS, "most": 100}
    whole = answer("advise", body)
    assert cut_of(whole) == []
    by_pod = {one["pod"]: one for one in whole["advice"]}
    partial = False
    for trials in (1, 2, 3, 4, 5, 20, 40, 80):
        found = advised(body, trials)
        cut = cut_of(found)
        told = [one["pod"] for one in found["advice"]]
        assert told == list(by_pod)[: len(told)]
        assert list(dict.fromkeys([*told, *cut])) == list(by_pod)
        for one in found["advice"]:
            proposals = by_pod[one["pod"]]["proposals"]
            if one["pod"] not in cut:
                assert one["proposals"] == proposals
            else:
                assert all(own in proposals for own in one["proposals"])
                partial = partial or len(one["proposals"]) > 0
    assert partial


def test_a_question_about_one_pod_is_told_that_not_all_was_tried() -> None:
    body = {**PLACE, "pods": PODS}
    worst = next(one["pod"] for one in answer("advise", body)["advice"] if one["fault"])
    assert cut_of(advised({**body, "pod": worst}, 3)) == [worst]


def test_a_question_of_many_shapes_brings_as_much_advice_as_its_time_allows() -> None:
    """Sixteen NUMA nodes and many shapes: all of it takes many times as long. No pod is left out without a word."""
    manifest = POD.replace(', nvidia.com/gpu: "1"', "")
    pods = "---\n".join(
        manifest.replace("asked", f"p{n}").replace('cpu: "8"', f'cpu: "{20 + n}"').replace("16Gi", f"{n + 1}Gi")
        for n in range(60)
    )
    found = advised({"machine": "epyc-l3-numa", "pods": pods, "settings": {"policy": "single-numa-node"}}, 300)
    told = {one["pod"] for one in found["advice"]}
    told |= {name for one in found["advice"] for name in one["same"]}
    assert told
    assert told < told | set(cut_of(found)) == {f"default/p{n}" for n in range(60)}


def test_a_what_if_does_not_wait_long_for_somebody_who_gives_advice(monkeypatch: pytest.MonkeyPatch) -> None:
    """All of them are busy with questions that take long: the decision is answered, and why there is no advice."""
    monkeypatch.setattr(handlers, "ADVICE_PATIENCE", 0.05)

    async def run() -> Any:
        agent = demo_agent()
        agent.pool.slow = Lane(lambda: agent.board.snapshot, 20, workers=0)
        async with client_of(agent) as client:
            return (await client.post("/api/v1/whatif", json={"pods": POD})).json()

    found = asyncio.run(run())
    assert found["adviceProblem"] == "all workers are busy"
    assert found["advice"] is None
    assert [one["pod"] for one in found["stories"]] == ["default/asked"]
