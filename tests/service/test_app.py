"""The operations of the API, asked in this process."""

import asyncio
import gzip
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest

from numafit.machine.catalogue.names import catalogue, machine_named
from numafit.machine.file.write import machine_value
from numafit.service import app
from numafit.service.api import static
from numafit.service.api.handlers import LARGEST_BODY
from numafit.service.node import Change
from numafit.service.problem import Problem
from numafit.service.sources.demo import Demo
from numafit.show.records.agent import MachineAnswer
from numafit.show.records.ledger import LedgerView
from numafit.show.records.settings import SettingsView
from tests.service.agents import POD, ROOT, asked, client_of, demo_agent

LOG = (ROOT / "examples" / "small-node" / "recreate-loop.log").read_bytes()


def get(path: str) -> httpx.Response:
    return asked(lambda client: client.get(path))


def post(path: str, **arguments: Any) -> httpx.Response:
    return asked(lambda client: client.post(path, **arguments))


def test_the_machine_is_shown_with_the_names_of_others() -> None:
    """`machine` is a machine file."""
    found = msgspec.json.decode(get("/api/v1/machine").content, type=MachineAnswer)
    assert (found.name, found.source) == ("gpu8-128cpu", "demo")
    assert found.machine == machine_value(machine_named("gpu8-128cpu"))
    assert {entry.name: entry.title for entry in found.catalogue} == catalogue()


def test_a_machine_of_the_catalogue_is_shown_by_name() -> None:
    """And only those."""
    assert get("/api/v1/catalogue/laptop").json() == {"machine": machine_value(machine_named("laptop"))}
    assert get("/api/v1/catalogue/..%2f..%2fetc%2fpasswd").status_code == 404


def test_settings_say_what_runs_and_what_may_be_chosen() -> None:
    """The example kubelet."""
    found = msgspec.json.decode(get("/api/v1/settings").content, type=SettingsView)
    assert (found.version, found.policy, found.scope) == ("v1.36.4", "restricted", "pod")
    assert "kind: KubeletConfiguration" in found.kubelet
    assert found.versions[0] == "v1.36.4"
    assert "v1.20" in found.versions
    assert {option.manager for option in found.options} == {"cpu", "topology"}


def test_the_examples_can_be_asked() -> None:
    """Each of them, on the machine that it names."""

    async def talk(client: httpx.AsyncClient) -> list[int]:
        statuses = []
        for example in (await client.get("/api/v1/examples")).json():
            body = {"pods": example["pods"], "empty": True, "advice": False}
            if "machine" in example:
                body["machine"] = example["machine"]
            statuses.append((await client.post("/api/v1/whatif", json=body)).status_code)
        return statuses

    statuses = asked(talk)
    assert statuses
    assert set(statuses) == {200}


def test_decisions_come_in_pages_newest_first() -> None:
    """`next` leads on, without gaps and without repeats."""

    async def talk(client: httpx.AsyncClient) -> tuple[list[int], list[int]]:
        first = (await client.get("/api/v1/decisions?limit=200")).json()["decisions"][-1]["id"]
        before = first + 14
        path = f"/api/v1/decisions?limit=200&before={before}"
        every = [one["id"] for one in (await client.get(path)).json()["decisions"]]
        paged: list[int] = []
        path = f"/api/v1/decisions?limit=4&before={before}"
        while True:
            page = (await client.get(path)).json()
            paged += [one["id"] for one in page["decisions"]]
            if page["next"] is None:
                return every, paged
            path = f"/api/v1/decisions?limit=4&before={page['next']}"

    every, paged = asked(talk)
    assert paged == every == sorted(every, reverse=True)
    assert len(every) == 14


def test_a_decision_tells_its_story_and_the_ledger_after_it() -> None:
    """The same ledger as asked for with `at`."""

    async def talk(client: httpx.AsyncClient) -> tuple[Any, Any]:
        known = (await client.get("/api/v1/decisions?limit=200")).json()["decisions"]
        number = next(one["id"] for one in known if one["kind"] == "pod")
        decision = (await client.get(f"/api/v1/decisions/{number}")).json()
        return decision, (await client.get(f"/api/v1/ledger?at={number}")).json()

    decision, ledger = asked(talk)
    assert decision["story"]["sentence"] == decision["sentence"]
    assert decision["ledger"] == ledger
    msgspec.convert(ledger, LedgerView)


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/api/v1/decisions?limit=0", 400),
        ("/api/v1/decisions?limit=201", 400),
        ("/api/v1/decisions?limit=%D9%A3", 400),
        ("/api/v1/decisions?before=-1", 400),
        ("/api/v1/decisions?verdict=maybe", 400),
        ("/api/v1/decisions/0", 400),
        ("/api/v1/decisions/99999", 404),
        ("/api/v1/ledger?at=99999", 404),
        ("/api/v1/nothing", 404),
        ("/assets/../../../etc/passwd", 404),
        ("/api/v1/leases", 409),
    ],
)
def test_what_cannot_be_answered_is_a_problem(path: str, status: int) -> None:
    """In the shape of RFC 9457, with a sentence."""
    response = get(path)
    found = msgspec.json.decode(response.content, type=Problem)
    assert (response.status_code, found.status) == (status, status)
    assert response.headers["content-type"] == "application/problem+json"
    assert found.detail


def test_a_wrong_manifest_is_a_problem_with_its_place() -> None:
    """Source, line and field, as the command line says them."""
    pods = POD.replace('cpu: "8"', 'cpu: "eight"')
    found = msgspec.json.decode(post("/api/v1/simulate", json={"pods": pods}).content, type=Problem)
    assert (found.status, found.source, found.line) == (422, "pods", 8)
    assert "cpu" in found.field


BODIES = {
    b"{": 400,
    b"[]": 422,
    b"{}": 422,
    b'{"pods": 1}': 422,
    b'{"pods": "", "wrong": 1}': 422,
    b'{"pods": ""}': 422,
    b'{"pods": "\\ud800"}': 400,
    b"\xff\xfe": 400,
}


@pytest.mark.parametrize("path", ["/api/v1/simulate", "/api/v1/whatif"])
def test_a_body_that_is_no_question_is_a_problem(path: str) -> None:
    """400 for what is no JSON, 422 for JSON that does not fit."""

    async def talk(client: httpx.AsyncClient) -> dict[bytes, int]:
        headers = {"Content-Type": "application/json"}
        return {body: (await client.post(path, content=body, headers=headers)).status_code for body in BODIES}

    assert asked(talk) == BODIES


def test_a_form_is_no_question() -> None:
    """What a page of another site could send without asking first is not taken."""
    assert post("/api/v1/simulate", data={"pods": POD}).status_code == 415


def test_a_body_that_is_too_large_is_refused() -> None:
    """With its announced length at once, without one when it passes the limit."""
    body = b'{"pods": "' + b"x" * LARGEST_BODY + b'"}'

    async def chunks() -> Any:
        for start in range(0, len(body), 1 << 16):
            yield body[start : start + (1 << 16)]

    for content in (body, chunks()):
        headers = {"Content-Type": "application/json"}
        assert post("/api/v1/simulate", content=content, headers=headers).status_code == 413


def test_bombs_are_refused_in_bounded_time() -> None:
    """Aliases that unfold to more than any machine holds, and depth without end."""
    laughs = "a: &a [x,x,x,x,x,x,x,x,x]\n" + "".join(
        f"{chr(98 + i)}: &{chr(98 + i)} [{','.join([f'*{chr(97 + i)}'] * 9)}]\n" for i in range(12)
    )

    async def talk(client: httpx.AsyncClient) -> list[int]:
        bombs = (laughs, "[" * 100_000, "{a: " * 100_000, "- " * 100_000)
        return [(await client.post("/api/v1/simulate", json={"pods": pods})).status_code for pods in bombs]

    assert asked(talk) == [422] * 4


def test_a_log_is_told() -> None:
    """Plain or packed, known by its content; cut with a note; what is no log gets one sentence."""
    packed = gzip.compress(LOG, mtime=0)

    async def talk(client: httpx.AsyncClient) -> list[httpx.Response]:
        return [await client.post("/api/v1/log", content=data) for data in (LOG, packed, b"", b"no log", packed[:-20])]

    plain, unpacked, *others = asked(talk)
    assert plain.json()["loops"]
    assert plain.json() == unpacked.json()
    assert [response.status_code for response in others] == [422, 422, 200]
    assert [note["code"] for note in others[-1].json()["notes"]] == ["log-cut"]


def test_health_and_readiness() -> None:
    """An agent that has not read its node yet is alive, but not ready."""

    async def run() -> list[int]:
        agent = demo_agent()
        transport = httpx.ASGITransport(agent.app)
        async with httpx.AsyncClient(transport=transport, base_url="http://localhost") as client:
            before = [(await client.get(path)).status_code for path in ("/healthz", "/readyz")]
        async with client_of(agent) as client:
            return [*before, (await client.get("/readyz")).status_code]

    assert asyncio.run(run()) == [200, 503, 200]


def test_the_document_can_be_browsed_without_script() -> None:
    """Every operation stands on the page."""

    async def talk(client: httpx.AsyncClient) -> tuple[str, Any]:
        return (await client.get("/api/docs")).text, (await client.get("/api/v1/openapi.json")).json()

    page, document = asked(talk)
    assert "<script" not in page
    assert "style=" not in page
    assert all(path in page for path in document["paths"])
    assert "http://" not in page
    assert "https://" not in page


def test_without_the_page_the_root_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    """In one sentence, with the way to the API."""
    monkeypatch.setattr(static, "PAGE", "no-such-folder")
    response = get("/")
    assert response.headers["content-type"] == "text/html; charset=utf-8"
    assert "The page is not part of this installation" in response.text
    assert "/api/docs" in response.text


def test_the_files_of_the_page_are_served_from_memory(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The index at the root; a browser asks whether what it kept is still the same; no other kinds of files."""
    (tmp_path / "page" / "assets").mkdir(parents=True)
    (tmp_path / "page" / "index.html").write_text("<p>here</p>")
    (tmp_path / "page" / "assets" / "page.js").write_text("1")
    (tmp_path / "page" / "notes.txt").write_text("private")
    monkeypatch.setattr(static, "files", lambda _: tmp_path)

    async def talk(client: httpx.AsyncClient) -> list[httpx.Response]:
        found = [await client.get(path) for path in ("/", "/index.html", "/assets/page.js", "/notes.txt")]
        tags = (found[2].headers["etag"], found[0].headers["etag"])
        return found + [await client.get("/assets/page.js", headers={"If-None-Match": tag}) for tag in tags]

    root, index, script, notes, same, other = asked(talk)
    assert root.text == index.text == "<p>here</p>"
    assert script.headers["content-type"] == "text/javascript; charset=utf-8"
    assert root.headers["cache-control"] == script.headers["cache-control"] == "no-cache"
    assert (same.status_code, same.content) == (304, b"")
    assert (other.status_code, other.text) == (200, "1")
    assert notes.status_code == 404


def test_the_head_of_an_endless_answer_ends() -> None:
    """HEAD of the event stream."""
    response = asked(lambda client: client.head("/api/v1/events"))
    assert response.headers["content-type"] == "text/event-stream"


def test_a_body_that_is_no_text_is_a_problem_of_the_request() -> None:
    """JSON is UTF-8."""
    response = post("/api/v1/simulate", content=b'{"pods": "\xff"}', headers={"Content-Type": "application/json"})
    assert response.status_code == 400
    assert msgspec.json.decode(response.content, type=Problem).detail.startswith("the body is not JSON")


def test_a_source_that_breaks_is_told_and_followed_again(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """An error that nobody thought of does not end the agent in silence: /readyz says that the picture stands still."""
    monkeypatch.setattr(app, "RETRY_SECONDS", 0.01)
    tries: list[int] = []

    class Broken(Demo):
        async def changes(self) -> AsyncIterator[Change]:
            tries.append(1)
            raise KeyError("numa")
            yield

    async def talk(client: httpx.AsyncClient) -> httpx.Response:
        while len(tries) < 2:
            await asyncio.sleep(0.01)
        return await client.get("/readyz")

    assert asked(talk, Broken()).json()["problem"] == "this is a bug in numafit: KeyError: 'numa'"
    assert capsys.readouterr().err.count("KeyError") == 1
