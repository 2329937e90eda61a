"""What an operator asked in an incident, and got no good answer to: each with the events that showed it."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from numafit.__main__ import main

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "small-node"
MACHINE, KUBELET = str(EXAMPLE / "machine.json"), str(EXAMPLE / "kubelet.yaml")
NODE = ["--machine", MACHINE, "--kubelet", KUBELET, "--kube-version", "1.36"]
Asked = Callable[..., tuple[int, str, str]]


def manifest(name: str, amounts: str, kind: str = "limits", *, more: str = "", namespace: str = "default") -> str:
    return f"""\
apiVersion: v1
kind: Pod
metadata: {{name: {name}, namespace: {namespace}}}
spec:
  {more or "restartPolicy: Always"}
  containers:
  - {{name: main, image: x, resources: {{{kind}: {{{amounts}}}}}}}
---
"""


GPU_POD = "cpu: 4, memory: 4Gi, nvidia.com/gpu: 1"
A, B = manifest("a", GPU_POD), manifest("b", GPU_POD)


@pytest.fixture
def ask(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Asked:
    def asked(events: str, pods: str, *options: str, command: str = "simulate") -> tuple[int, str, str]:
        (tmp_path / "e.txt").write_text(events.replace("; ", "\n"))
        (tmp_path / "pods.yaml").write_text(pods)
        files = ["--events", str(tmp_path / "e.txt"), str(tmp_path / "pods.yaml")]
        code = main([command, *NODE, *files, *options])
        out, err = capsys.readouterr()
        return code, out, err

    return asked


@pytest.mark.parametrize("command", ["simulate", "explain"])
def test_a_kubelet_that_does_not_start_again_fails_the_check(ask: Asked, tmp_path: Path, command: str) -> None:
    """It is told once, below its event; the note has the line of the new configuration and the cure."""
    bad = (EXAMPLE / "kubelet.yaml").read_text().replace("memory: 412Mi", "memory: 1436Mi")
    (tmp_path / "bad.yaml").write_text(bad)
    code, out, _ = ask("add a; restart config=bad.yaml", A, "--check", command=command)
    assert code == 1
    assert out.count("is not equal to the value") == 1
    note = f"event 2: the kubelet does not start again: {tmp_path}/bad.yaml:17:3: reservedMemory (add 1Gi to"
    assert note in out
    assert ask("add a; restart config=bad.yaml", A)[0] == 0


def test_a_pod_that_is_never_decided_can_be_followed(ask: Asked) -> None:
    code, out, _ = ask("stop; add a", A, "--pod", "a", command="explain")
    assert (code, out.splitlines()[:2]) == (0, ["2. add a", "   default/a: waits: the kubelet is down"])
    assert ask("stop; add a", A, "--pod", "a", "--check", command="explain")[0] == 1
    code, _, err = ask("stop; add a", A, "--pod", "c", command="explain")
    assert (code, err) == (2, "numafit: --pod: there is no pod c (there are default/a)\n")


def test_pods_that_wait_for_a_kubelet_that_crashes_again_were_not_decided(ask: Asked) -> None:
    """They came while it was down, and so run nowhere: at the next start, too."""
    pods = manifest("huge", "cpu: 2, memory: 1Gi, hugepages-32Mi: 32Mi") + A
    events = "add huge; add a; start; start"
    code, out, _ = ask(events, pods, "--pod", "a", "--check", command="explain")
    assert (code, out.splitlines()[0]) == (1, "2. add a")
    assert "so default/a was not decided" in ask(events, pods)[1]


def test_a_name_of_two_pods_is_no_name(ask: Asked) -> None:
    pods = manifest("a", GPU_POD, namespace="one") + manifest("a", GPU_POD, namespace="two")
    code, _, err = ask("add a", pods)
    assert (code, err.rpartition("e.txt")[2]) == (2, ":1: a is one/a or two/a (write the namespace, too)\n")
    assert ask("add one/a; remove one/a; add two/a", pods, "--check")[0] == 0
    code, _, err = ask("add one/a two/a", pods, "--pod", "a", command="explain")
    assert (code, err) == (2, "numafit: --pod: a is one/a or two/a (write the namespace, too)\n")


def test_a_pod_that_comes_again_and_again_has_each_note_once(ask: Asked) -> None:
    """Of 3,333 such pods each decision had 3,333 notes."""
    once, nic = "; ".join(["add a", "remove a"] * 5), manifest("a", "cpu: 4, memory: 4Gi, lab.io/nic: 1")
    devices = ["--device", "lab.io/nic=n0@0,n1@0"]
    _, out, _ = ask(once, nic, *devices)
    which = "which 1 of 2 lab.io/nic it gets is left to chance"
    assert f"- default/a: at events 1, 3, 5 and 2 more, {which} (`simulate --outcomes 5` lists others)\n" in out
    _, out, _ = ask(once, nic, *devices, "--outcomes", "2")
    assert f"- default/a: at events 1, 3, 5 and 2 more, {which}\n" in out
    decisions = json.loads(ask(once, nic, *devices, "-o", "json")[1])["decisions"]
    assert [len(decision["notes"]) for decision in decisions] == [1] * 5


def test_the_doctor_knows_a_pod_over_which_the_kubelet_crashes_as_it_starts(
    ask: Asked, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """It was called a pod that is rejected, and the kubelet one that would start."""
    pods = manifest("a", "cpu: 4, memory: 4Gi, lab.io/nic: 1")
    ask(
        "plugin-start lab.io/nic n0@0,n1@0; add a; plugin-restart lab.io/nic n1@0", pods, "--write-state", str(tmp_path)
    )
    state = ["--state", str(tmp_path), "--device", "lab.io/nic=n1@0", str(tmp_path / "pods.yaml")]
    assert main(["doctor", *NODE, *state]) == 1
    out = capsys.readouterr().out
    assert out.startswith("The kubelet v1.36 would start and crash.\n\n1. error crash-at-start: default/a\n")
    assert "n0 of lab.io/nic is held, and its plugin no longer lists it" in out
    assert "rejected-at-start" not in out


def test_what_is_still_counted_of_a_pod_that_is_gone_stands_below_what_is_left(ask: Asked) -> None:
    """CPUs go at the next tick, the rest when the next pod asks for some."""
    held = "Not left until the kubelet cleans up: default/a {}4Gi@0, GPU-0\n"
    assert held.format("1-2,9-10, ") in ask("add a; remove a", A)[1]
    assert held.format("") in ask("add a; remove a; reconcile", A)[1]
    events = "add a; remove a; add b"
    assert "Not left" not in ask(events, A + B)[1]
    (stale,) = json.loads(ask("add a; remove a", A, "-o", "json")[1])["stale"]
    assert (stale["pod"], stale["cpus"], stale["devices"]) == ("default/a", "1-2,9-10", {"nvidia.com/gpu": ["GPU-0"]})
    assert "stale" not in json.loads(ask(events, A + B, "-o", "json")[1])


def test_pods_that_are_gone_and_still_count_are_named(ask: Asked) -> None:
    """They were told by UIDs that only numafit knows."""
    pods = "".join(manifest(name, f"cpu: {cpus}, memory: 1Gi") for name, cpus in (("a", 6), ("b", 4), ("c", 6)))
    events = "add a b; stop; remove a; add c; start"
    code, out, _ = ask(events, pods, "--pod", "c", command="explain")
    assert code == 0
    assert "What default/a held counts until the kubelet has cleaned up, though it is gone." in out
    assert "    cpu on node 0 is held by default/a (gone) 6\n    cpu on node 1 is held by default/b 4\n" in out
    assert "What default/a held counts until" in ask(events, pods)[1]


def test_a_resize_that_the_api_server_refuses_leaves_the_class_of_the_pod(ask: Asked) -> None:
    """The row showed what the pod would have become."""
    _, out, _ = ask("add a; resize a main requests.cpu=2", A)
    assert "   default/a  Guaranteed  refused " in out


def test_a_resize_that_is_asked_for_already_is_no_event(ask: Asked) -> None:
    """Neither it nor another that waits is tried again."""
    pods = "".join(manifest(name, "cpu: 6", "requests") for name in ("a", "b"))
    events = "add a b; resize a main requests.cpu=9; resize a main requests.cpu=9"
    _, out, _ = ask(events, pods)
    assert out.count("Deferred") == 1
    assert "   no effect: default/a is to have these resources already\n" in out


def test_an_evicted_pod_is_evicted_without_events_too(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    vip = manifest("vip", "cpu: 6", "requests", more="priority: 2000000000")
    (tmp_path / "pods.yaml").write_text(manifest("a", "cpu: 10", "requests") + vip)
    assert main(["explain", *NODE, str(tmp_path / "pods.yaml")]) == 0
    assert "default/a (Burstable): evicted, Preempting\n" in capsys.readouterr().out
    assert main(["simulate", *NODE, "--check", str(tmp_path / "pods.yaml")]) == 1


def test_a_container_that_does_not_run_at_the_end_fails_the_check(ask: Asked) -> None:
    events, pods = "add a; plugin-start lab.io/nic !n0@0; exit a", manifest("a", "cpu: 2, memory: 1Gi, lab.io/nic: 1")
    assert ask(events, pods, "--check")[0] == 1
    assert ask(f"{events}; devices lab.io/nic n0@0", pods, "--check")[0] == 0


def test_a_typing_error_in_another_configuration_is_refused(ask: Asked, tmp_path: Path) -> None:
    """The kubelet ignores the field, and what it said then sent people to delete its state."""
    (tmp_path / "new.yaml").write_text((EXAMPLE / "kubelet.yaml").read_text().replace("cpuManagerPol", "cpuManagerPl"))
    code, _, err = ask("add a; restart config=new.yaml", A)
    assert code == 2
    assert err.startswith(f"numafit: {tmp_path / 'new.yaml'}:3: cpuManagerPlicy: ")


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("restart plugins=late plugins=never", "plugins stands there twice"),
        ("restart reboot reboot", "reboot stands there twice"),
        ("capacity cpu=2", "the kubelet itself tells how much cpu there is (name one like lab.io/thing)"),
        ("perform", '"perform" is no event (there are add, remove, reconcile, restart, stop, start, devices, plugin-'),
    ],
)
def test_lines_that_say_nothing_are_refused(ask: Asked, line: str, problem: str) -> None:
    code, _, err = ask(line, A)
    assert (code, err.partition("e.txt:1: ")[2][: len(problem)]) == (2, problem)


def test_a_file_of_windows_is_read(ask: Asked) -> None:
    assert ask("\ufeffadd a\r\nremove a", A)[0] == 0


def test_notes_on_events_of_others_are_not_told_of_a_pod(ask: Asked) -> None:
    events = "add a; stop; stop; start"
    assert "event 3: no effect" in ask(events, A, command="explain")[1]
    assert "nothing happens" not in ask(events, A, "--pod", "a", command="explain")[1]


def test_pods_of_another_node_than_the_node_object_are_left_out(ask: Asked, tmp_path: Path) -> None:
    """All of them named the same node, and so were played on the one that was given."""
    status = "status: {nodeInfo: {kubeletVersion: v1.36.0}}"
    (tmp_path / "node.yaml").write_text(f"apiVersion: v1\nkind: Node\nmetadata: {{name: w1}}\n{status}\n")
    node = ["--node-object", str(tmp_path / "node.yaml")]
    other, own = (manifest(name, GPU_POD, more=f"nodeName: {on}") for name, on in (("a", "w9"), ("b", "w1")))
    code, _, err = ask("reconcile", other, *node)
    assert (code, "default/a: is on another node than w1" in err) == (2, True)
    _, out, _ = ask("reconcile", other + B, *node)
    assert "- default/a: is on another node than w1\n" in out
    assert "default/b  Guaranteed  admitted" in out
    assert "default/b  Guaranteed  admitted" in ask("reconcile", own, *node)[1]


def test_a_file_without_events_is_noted(ask: Asked) -> None:
    _, out, _ = ask("# add a; # later", A)
    assert "e.txt: there is no event in it: the pods come, and nothing else happens\n" in out
    assert "there is no event" not in ask("add a", A)[1]


def test_what_is_left_of_the_node_as_a_whole_is_told_where_it_is_less(ask: Asked) -> None:
    """A pod that holds nothing asks for something, too: the next one was OutOfcpu beside 14 CPUs that were left."""
    lines = {
        "13": "Of the node as a whole only 1 CPU is left\n",
        "12500m": "Of the node as a whole only 1500m CPUs are left\n",
    }
    for cpus, line in lines.items():
        assert line in ask("add a", manifest("a", f"cpu: {cpus}", "requests"))[1]
    several = manifest("a", "cpu: 4, memory: 1Gi", "requests")
    assert "Of the node as a whole only 10 CPUs and 30Gi of memory are left\n" in ask("add a", several)[1]
    assert "as a whole" not in ask("add a", A)[1]
