"""What became of a patch is known before anything follows."""

import json

import pytest

from numafit.cluster.kube.health import ApiHealth
from numafit.cluster.place import releases
from numafit.cluster.place.releases import ReleaseOutcome, Releaser
from tests.cluster.kube.scripted_server import Answer, Asked, Hangup, refusal, scripted
from tests.cluster.place.clusters import waiting
from tests.cluster.place.played import run

GATED = {"metadata": {"uid": "p"}, "spec": {"schedulingGates": [{"name": "numafit.io/place"}]}}


def outcome(*answers: Answer | Hangup) -> tuple[ReleaseOutcome, list[str]]:
    """Of a server that answers so, one after the other; and what it was asked."""
    left, methods = list(answers), []

    def script(asked: Asked) -> Answer | Hangup:
        methods.append(asked.method)
        return left.pop(0)

    found: list[ReleaseOutcome] = []

    async def test() -> None:
        async with scripted(script) as (_, api):
            patch = lambda *, annotated: json.dumps({"annotated": annotated}).encode()  # noqa: E731
            found.append(await Releaser(api, ApiHealth()).release(waiting("p"), patch))

    run(test())
    return found[0], methods


@pytest.mark.parametrize(
    ("answers", "result", "methods"),
    [
        ([Answer()], "released", ["PATCH"]),
        ([refusal(422, "no"), Answer()], "released", ["PATCH", "PATCH"]),
        ([refusal(422, "no"), refusal(422, "no")], "changed", ["PATCH", "PATCH"]),
        ([refusal(409, "no")], "changed", ["PATCH"]),
        ([refusal(404, "no")], "gone", ["PATCH"]),
        ([refusal(403, "no")], "refused", ["PATCH"]),
        ([refusal(500, "no"), Answer(json.dumps(GATED).encode())], "changed", ["PATCH", "GET"]),
        ([Hangup(), Answer(json.dumps(GATED).encode()), Answer()], "released", ["PATCH", "GET", "PATCH"]),
        ([Hangup(), Answer(b'{"metadata": {"uid": "p"}, "spec": {}}')], "released", ["PATCH", "GET"]),
        ([refusal(429, "no"), refusal(404, "no")], "gone", ["PATCH", "GET"]),
        (
            [refusal(503, "no"), refusal(503, "no"), Answer(b'{"metadata": {"uid": "q"}}')],
            "gone",
            ["PATCH", "GET", "GET"],
        ),
    ],
)
def test_each_answer_means_one_thing(answers: list[Answer | Hangup], result: str, methods: list[str]) -> None:
    found, asked = outcome(*answers)
    assert (found.result, asked) == (result, methods)


def test_one_that_takes_too_long_is_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(releases, "SEND_SECONDS", 0.05)
    late = (Answer(seconds=1.0), Answer(json.dumps(GATED).encode()))
    found, asked = outcome(*late, *late, *late)
    assert (found.result, asked) == ("changed", ["PATCH", "GET"] * 3)


def test_what_is_sent_again_names_the_same_nodes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first may arrive after the look: whichever does, what was promised is what the pod says."""
    monkeypatch.setattr(releases, "SEND_SECONDS", 0.05)
    found, asked = outcome(Answer(seconds=1.0), Answer(json.dumps(GATED).encode()), refusal(422, "no"), Answer())
    assert (found.result, asked) == ("released", ["PATCH", "GET", "PATCH", "PATCH"])


def test_whoever_may_no_longer_lead_sends_nothing() -> None:
    """A process that stood still wakes up with what it decided before; another one may have decided since."""

    async def test() -> None:
        async with scripted(lambda asked: Answer()) as (server, api):
            own = Releaser(api, ApiHealth(), lambda: False)
            found = await own.release(waiting("p"), lambda *, annotated: b"[]")
            assert found.result == "changed"
            assert server.asked == []

    run(test())
