"""`numafit node switch --over-agent`: which words go together, and how it ends, with an agent of few words."""

import json
from importlib import import_module
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.cluster.orders import asker
from tests.cluster.conftest import config, server
from tests.cluster.orders.order_server import Json, OrderServer

__all__ = ["config", "server"]

WORDS = ["node", "switch", "--node", "gpu-1", "--over-agent"]
PLAN: Json = {"node": "gpu-1", "release": "v1.36", "keepPods": False}


@pytest.fixture
def orders(config: Path, monkeypatch: pytest.MonkeyPatch) -> OrderServer:
    found = OrderServer()
    monkeypatch.setenv("KUBECONFIG", str(config))
    # By its name in the table of modules: a test of another door takes it out of its package for a while.
    monkeypatch.setattr(import_module("numafit.cluster.kube.api"), "KubeApi", lambda access: found)
    monkeypatch.setattr(asker, "PAUSE", 0.01)
    monkeypatch.setattr(asker, "ANSWER_SECONDS", 0.2)
    return found


def answering(orders: OrderServer, status: str, last: str = "switched", **more: str) -> None:
    """The agent plans, and does what is approved."""

    def react(data: Json) -> None:
        if data.get("approved") == "d1" and data.get("status") == "planned":
            orders.say(status=last, log="10:00:00.000 cordon done", kept="/var/lib/kubelet/numafit-switch/x")
        elif "status" not in data:
            orders.say(status=status, digest="d1", text="Node gpu-1", plan=json.dumps(PLAN), **more)

    orders.react = react


def new(tmp_path: Path) -> str:
    (tmp_path / "new.yaml").write_text("cpuManagerPolicy: static\n")
    return str(tmp_path / "new.yaml")


def test_a_switch_that_is_done(orders: OrderServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    answering(orders, "planned")
    assert main([*WORDS, new(tmp_path), "--yes"]) == 0
    printed = capsys.readouterr()
    assert printed.out.splitlines() == [
        "Node gpu-1",
        "Done. What there was before is in /var/lib/kubelet/numafit-switch/x on the node.",
    ]
    assert printed.err == "10:00:00.000 cordon done\n"
    assert orders.maps == {}


@pytest.mark.parametrize(
    ("status", "last", "words", "code", "outcome"),
    [
        ("planned", "", ["--dry-run"], 0, "planned"),
        ("refused", "", ["--yes"], 1, "refused"),
        ("same", "", ["--yes"], 0, "planned"),
        ("planned", "undone", ["--yes"], 1, "undone"),
    ],
)
def test_how_it_ends_for_programs(
    orders: OrderServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    status: str,
    last: str,
    words: list[str],
    code: int,
    outcome: str,
) -> None:
    answering(orders, status, last, message="no")
    assert main([*WORDS, new(tmp_path), *words, "-o", "json"]) == code
    assert json.loads(capsys.readouterr().out)["outcome"] == outcome
    assert orders.maps == {}, "an order that is over is removed"


def test_one_that_is_not_finished_stays(
    orders: OrderServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answering(orders, "planned", "unfinished")
    assert main([*WORDS, new(tmp_path), "--yes"]) == 1
    assert "Not finished: --continue tries again, --undo goes back" in capsys.readouterr().out
    assert orders.data["status"] == "unfinished"


def test_where_nobody_can_be_asked_the_order_is_taken_back(
    orders: OrderServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    answering(orders, "planned")
    assert main([*WORDS, new(tmp_path)]) == 2
    assert "there is nobody to ask" in capsys.readouterr().err
    assert orders.maps == {}


def test_whoever_is_interrupted_is_told_how_to_follow(
    orders: OrderServer, tmp_path: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupted(*_: object) -> None:
        raise KeyboardInterrupt

    answering(orders, "planned", "running")
    monkeypatch.setattr(asker.OrderAsker, "followed", interrupted)
    assert main([*WORDS, new(tmp_path), "--yes", "--namespace", "numafit"]) != 0
    said = capsys.readouterr().err
    assert "`numafit node switch --over-agent --node gpu-1 --continue` follows it" in said
    assert orders.data["status"] == "running"


def test_an_order_that_is_refused_without_a_plan(
    orders: OrderServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    orders.react = lambda data: orders.say(status="refused", message="another switch is at work")
    assert main([*WORDS, new(tmp_path), "--yes"]) == 2
    assert "refused by the agent: another switch is at work" in capsys.readouterr().err
    assert orders.maps == {}


def test_going_on_follows_what_is_there(orders: OrderServer, capsys: pytest.CaptureFixture[str]) -> None:
    orders.order(config="new", status="switched", log="a", kept="/k")
    assert main([*WORDS, "--continue"]) == 0
    assert "Done." in capsys.readouterr().out
    assert orders.maps == {}


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["--over-agent", "a.yaml"], "it is not said which node (name it by --node)"),
        ([*WORDS[2:]], "it is not said which configuration"),
        ([*WORDS[2:], "a.yaml", "--set", "a=b"], "NEW and --set are two"),
        ([*WORDS[2:], "a.yaml", "--stop-command", "x"], "--stop-command: does not go with --over-agent"),
        ([*WORDS[2:], "a.yaml", "--kubelet-dir", "/x"], "--kubelet-dir: does not go with --over-agent"),
        ([*WORDS[2:], "--continue", "--undo"], "do not go together"),
        ([*WORDS[2:], "--undo", "a.yaml"], "no other configuration can be given"),
        ([*WORDS[2:], "--continue"], "there is no order for gpu-1"),
        (["a.yaml", "--namespace", "x"], "--namespace: goes with --over-agent only"),
    ],
)
def test_what_makes_no_sense_is_refused(
    orders: OrderServer, words: list[str], sentence: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["node", "switch", *words]) == 2
    assert sentence in capsys.readouterr().err
