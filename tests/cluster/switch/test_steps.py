"""Every step can be the last one of a process: the next one goes on, or undoes it, and both end in a right state."""

import asyncio
import os
from collections.abc import Callable
from errno import ENOSPC
from pathlib import Path

import pytest

from numafit.cluster.switch import steps
from numafit.cluster.switch.journal import BEGUN, DONE, FAILED, Journal, JournalEntry, open_journal
from numafit.cluster.switch.steps import STEPS, UNDO_STEPS, Switch
from numafit.errors import ApiServerError, InputError
from tests.cluster.switch.fake_node import REFUSED, FakeNode, Killed

FORWARD = [(step, event) for step in STEPS for event in (BEGUN, DONE)]
BACK = [(step, event) for step in UNDO_STEPS for event in (BEGUN, DONE)]


@pytest.fixture(autouse=True)
def no_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("BUDGET_PAUSE", "GONE_PAUSE", "READY_PAUSE", "ABSENT_SECONDS"):
        monkeypatch.setattr(steps, name, 0.0)


@pytest.fixture
def node(tmp_path: Path) -> FakeNode:
    return FakeNode(tmp_path)


def killed_at(step: str, event: str) -> Callable[[JournalEntry], None]:
    """A killer that strikes once."""

    def say(entry: JournalEntry) -> None:
        if (entry.step, entry.event) == (step, event):
            raise Killed

    return say


def run(node: FakeNode, say: Callable[[JournalEntry], None] = lambda _: None, *, back: bool = False) -> str:
    """Goes on with what stands in the journal."""
    journal = open_journal(node.root / "numafit-switch")
    assert journal is not None
    switch = Switch(journal, node, node, say)
    return asyncio.run(switch.back() if back else switch.forward())


def finished(node: FakeNode) -> bool:
    return open_journal(node.root / "numafit-switch") is None


def test_a_switch_ends_with_the_new_configuration_and_an_open_node(node: FakeNode) -> None:
    node.journal()
    told: list[JournalEntry] = []
    assert run(node, told.append) == "switched"
    assert node.as_wanted()
    assert not node.cordoned
    assert finished(node)
    assert node.evicted == ["default/a"]
    assert [(entry.step, entry.event) for entry in told] == FORWARD
    assert node.config.stat().st_mode & 0o777 == 0o640
    (kept,) = (node.root / "numafit-switch").glob("2*")
    assert sorted(path.name for path in (kept / "before").iterdir()) == ["config.yaml", "cpu_manager_state"]


@pytest.mark.parametrize(("step", "event"), FORWARD)
def test_killed_at_any_step_it_goes_on_to_the_end(node: FakeNode, step: str, event: str) -> None:
    node.journal()
    with pytest.raises(Killed):
        run(node, killed_at(step, event))
    assert not finished(node)
    assert run(node) == "switched"
    assert node.as_wanted()
    assert not node.cordoned
    assert finished(node)


@pytest.mark.parametrize(("step", "event"), FORWARD)
def test_killed_at_any_step_it_is_undone(node: FakeNode, step: str, event: str) -> None:
    node.journal()
    with pytest.raises(Killed):
        run(node, killed_at(step, event))
    assert run(node, back=True) == "undone"
    assert node.as_before()
    assert not node.cordoned
    assert finished(node)


@pytest.mark.parametrize(("step", "event"), FORWARD)
def test_a_machine_that_starts_again_in_between_starts_its_kubelet_too(node: FakeNode, step: str, event: str) -> None:
    node.journal()
    with pytest.raises(Killed):
        run(node, killed_at(step, event))
    asyncio.run(node.stop(watched=True))
    asyncio.run(node.start())
    assert run(node) == "switched"
    assert node.as_wanted()


@pytest.mark.parametrize(("step", "event"), BACK)
def test_killed_while_it_goes_back_it_goes_back(node: FakeNode, step: str, event: str) -> None:
    node.journal(REFUSED)
    with pytest.raises(Killed):
        run(node, killed_at(step, event))
    assert run(node, back=True) == "undone"
    assert node.as_before()
    assert not node.cordoned
    assert finished(node)


@pytest.mark.parametrize("step", [step for step in STEPS if step != "uncordon"])
def test_whatever_fails_the_node_is_as_it_was(node: FakeNode, step: str, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = node.journal()
    switch = Switch(journal, node, node, lambda _: None)
    deeds = switch._deeds()

    async def stumbles() -> str:
        raise OSError("no space left")

    monkeypatch.setattr(switch, "_deeds", lambda: {**deeds, step: stumbles})
    assert asyncio.run(switch.forward()) == "undone"
    assert node.as_before()
    assert not node.cordoned
    assert finished(node)


@pytest.mark.parametrize("lines", range(2 * len(STEPS) - 2))
def test_a_disk_that_is_full_does_not_leave_a_node_without_its_kubelet(
    node: FakeNode, lines: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So many lines of the journal can be written, and none after them; later there is room again."""
    journal = node.journal()
    with monkeypatch.context() as full:
        left, append = [lines], Journal._append

        def appended(self: Journal, line: bytes) -> None:
            if not left[0]:
                raise OSError(ENOSPC, "No space left on device")
            left[0] -= 1
            append(self, line)

        full.setattr(Journal, "_append", appended)
        assert asyncio.run(Switch(journal, node, node, lambda _: None).forward()) == "undone"
    assert node.as_before()
    assert not node.cordoned
    assert finished(node)


def test_a_line_that_has_no_room_leaves_no_part_of_it(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    journal = node.journal()
    journal.write("cordon", BEGUN)
    before = journal.path.read_bytes()

    def no_room(handle: int) -> None:
        raise OSError(ENOSPC, "No space left on device")

    with monkeypatch.context() as full:
        full.setattr(os, "fsync", no_room)
        with pytest.raises(OSError, match="No space"):
            journal.write("cordon", DONE)
    assert journal.path.read_bytes() == before
    journal.write("cordon", DONE)
    found = open_journal(journal.folder)
    assert found is not None
    assert found.done("cordon")


def test_a_new_kubelet_that_does_not_come_up_is_replaced_by_the_old_one(node: FakeNode) -> None:
    node.journal(REFUSED)
    told: list[JournalEntry] = []
    assert run(node, told.append) == "undone"
    assert node.as_before()
    assert not node.cordoned
    assert [entry.step for entry in told if entry.event == FAILED] == ["ready"]


def test_commands_that_do_not_work_have_not_touched_the_kubelet(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its service has another name here: neither of them does anything."""

    async def unknown(**_: object) -> str:
        raise InputError("Unit kubelet.service not found")

    monkeypatch.setattr(node, "stop", unknown)
    monkeypatch.setattr(node, "start", unknown)
    node.journal()
    assert run(node) == "undone"
    assert node.process == 101
    assert not node.cordoned


def test_somebody_who_may_not_close_the_node_has_touched_nothing(
    node: FakeNode, monkeypatch: pytest.MonkeyPatch
) -> None:
    """He could not open it either: what the API server refused need not be undone."""

    async def refuses(_: bool) -> None:
        raise ApiServerError("cannot patch", status=403)

    monkeypatch.setattr(node, "cordon", refuses)
    node.journal()
    assert run(node) == "undone"
    assert node.process == 101
    assert finished(node)


def test_a_node_that_was_closed_before_stays_closed(node: FakeNode) -> None:
    node.cordoned = True
    node.journal(was_cordoned=True)
    assert run(node) == "switched"
    assert node.cordoned


@pytest.mark.parametrize(("step", "event"), FORWARD[:-2])
def test_a_node_that_was_closed_before_is_closed_after_it_was_undone(node: FakeNode, step: str, event: str) -> None:
    node.cordoned = True
    node.journal(was_cordoned=True)
    with pytest.raises(Killed):
        run(node, killed_at(step, event))
    assert run(node, back=True) == "undone"
    assert node.as_before()
    assert node.cordoned


def test_with_pods_kept_nobody_is_evicted(node: FakeNode) -> None:
    node.journal(keep_pods=True)
    assert run(node) == "switched"
    assert node.evicted == []
    assert node.as_wanted()


def test_with_pods_kept_it_goes_on_where_it_was(node: FakeNode) -> None:
    """The step that is left out must not count as one that is still to come."""
    node.journal(keep_pods=True)
    with pytest.raises(Killed):
        run(node, killed_at("ready", BEGUN))
    told: list[JournalEntry] = []
    assert run(node, told.append) == "switched"
    assert told[0].step == "ready"


def test_a_budget_that_does_not_let_go_within_the_limit_is_named(node: FakeNode) -> None:
    node.held_back = 100
    node.journal(seconds=0.0)
    told: list[JournalEntry] = []
    assert run(node, told.append) == "undone"
    (why,) = [entry.text for entry in told if entry.event == FAILED]
    assert "default/a may not go: the disruption budget b needs 1 healthy pod" in why
    assert node.as_before()
    assert node.process == 101, "the kubelet was never stopped"


def test_a_budget_that_lets_go_in_time_is_waited_for(node: FakeNode) -> None:
    node.held_back = 3
    node.journal()
    assert run(node) == "switched"
    assert node.evicted == ["default/a"]


def test_somebody_else_who_changes_the_configuration_meanwhile_keeps_his_change(node: FakeNode) -> None:
    node.journal()
    node.config.write_text('{"cpuManagerPolicy": "none", "maxPods": 5}\n')
    assert run(node) == "undone"
    assert "maxPods" in node.config.read_text()


def test_a_last_step_that_fails_leaves_the_new_kubelet_alone(node: FakeNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """It is known to run well by then; the next try opens the node."""
    journal = node.journal()
    switch = Switch(journal, node, node, lambda _: None)
    deeds = switch._deeds()

    async def stumbles() -> str:
        raise OSError("no answer")

    monkeypatch.setattr(switch, "_deeds", lambda: {**deeds, "uncordon": stumbles})
    assert asyncio.run(switch.forward()) == "unfinished"
    assert node.as_wanted()
    assert node.cordoned
    assert run(node) == "switched"
    assert not node.cordoned
