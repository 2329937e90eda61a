"""The ladder on real kernels with two NUMA nodes: what is bound, where the pages land, and what is left behind."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vm import Job, Node, Result, Shape, run_jobs
from tests.vm.parts import missing

pytestmark = pytest.mark.real

PROGRAM = {"bind.py": Path(__file__).with_name("bind_and_touch.py").read_text()}
NODES = (Node(cpus=4, memory=512), Node(cpus=4, memory=384))
GROUPS = "ls -d /sys/fs/cgroup/*/ 2>/dev/null"

BOTH = (
    Job("root", "python3 bind.py one 4-5 1 strict rebind=4-7", PROGRAM),
    Job("narrow", "taskset 1 python3 bind.py two 2-3 0", PROGRAM),
    Job("worker", "python3 bind.py three 4-5 1 rebind=6", PROGRAM, user="worker"),
    Job("strict", "python3 bind.py four 4-5 1 strict", PROGRAM, user="worker"),
    Job("outside", "python3 bind.py five 6-8 1", PROGRAM),
)
ONLY_V2 = (
    Job(
        "first",
        "cd /sys/fs/cgroup && rmdir numafit/*/ numafit && echo -cpuset > cgroup.subtree_control && cd - > /dev/null\n"
        "exec python3 bind.py six 4-5 1 strict",
        PROGRAM,
    ),
    Job(
        "container",
        "mkdir /sys/fs/cgroup/box && echo 0-3 > /sys/fs/cgroup/box/cpuset.cpus\n"
        "echo $$ > /sys/fs/cgroup/box/cgroup.procs\n"
        "unshare -C -m sh -c 'umount /sys/fs/cgroup; mount -t cgroup2 none /sys/fs/cgroup; "
        f"python3 bind.py seven 0-1 1; cat /sys/fs/cgroup/cgroup.type; {GROUPS}; true'",
        PROGRAM,
    ),
    Job(
        "limited",
        "mkdir /sys/fs/cgroup/service && echo 300M > /sys/fs/cgroup/service/memory.max\n"
        "echo $$ > /sys/fs/cgroup/service/cgroup.procs\n"
        "exec python3 bind.py eight 4-5 1",
        PROGRAM,
    ),
)


@pytest.fixture(scope="module", params=[1, 2], ids=["cgroup v1", "cgroup v2"])
def version(request: pytest.FixtureRequest) -> int:
    number: int = request.param
    return number


@pytest.fixture(scope="module")
def results(version: int, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    if lacking := missing():
        pytest.skip(lacking)
    shape = Shape(nodes=NODES, threads=2, sockets=2, cgroup=version)
    return run_jobs(shape, BOTH + (ONLY_V2 if version == 2 else ()), tmp_path_factory.mktemp("vm"))


def told(results: dict[str, Result], name: str) -> dict[str, Any]:
    result = results[name]
    assert result.status == 0, result.stderr
    record: dict[str, Any] = json.loads(result.stdout.splitlines()[0])
    return record


def test_root_is_held_by_a_cpuset_and_its_pages_lie_there(results: dict[str, Result], version: int) -> None:
    found = told(results, "root")
    assert (found["rung"], found["bound"], found["status"]) == (f"cgroup v{version}", ["4-5", "1"], ["4-5", "1"])
    assert list(found["pages"]) == ["1"]
    assert found["existing"] == [["one", "4-5", "1"]]


def test_running_processes_follow_a_cpuset_that_grows(results: dict[str, Result]) -> None:
    found = told(results, "root")
    assert (found["moved"], found["child"], found["members"]) == ("4-7", "4-7", 2)


def test_an_affinity_that_the_caller_had_does_not_count_in_a_cpuset(results: dict[str, Result]) -> None:
    found = told(results, "narrow")
    assert (found["status"], list(found["pages"])) == (["2-3", "0"], ["0"])


def test_an_ordinary_user_is_bound_by_affinity_and_policy(results: dict[str, Result]) -> None:
    """The pages lie there all the same, and moving works for his own processes."""
    found = told(results, "worker")
    assert (found["rung"], found["bound"], found["policy"]) == ("affinity and memory policy", ["4-5", "1"], "bind 1")
    assert (list(found["pages"]), found["moved"], found["child"]) == (["1"], "6", "6")
    assert [sentence.partition(":")[0] for sentence in found["skipped"]] == ["cgroup v2", "cgroup v1", "systemd scope"]


def test_strict_refuses_to_step_down(results: dict[str, Result]) -> None:
    assert "cannot be held by a cpuset" in told(results, "strict")["error"]


def test_cpus_that_are_not_there_are_refused(results: dict[str, Result]) -> None:
    assert told(results, "outside")["error"] == "CPUs 8 are not allowed to this process, which may use 0-7"


def of_v2(results: dict[str, Result], name: str) -> dict[str, Any]:
    if name not in results:
        pytest.skip("cgroup v2 only")
    return told(results, name)


def test_the_first_lease_of_a_machine_enables_the_controller(results: dict[str, Result]) -> None:
    found = of_v2(results, "first")
    assert (found["rung"], found["status"]) == ("cgroup v2", ["4-5", "1"])


def test_a_container_with_its_processes_at_the_root_is_left_as_it_was(results: dict[str, Result]) -> None:
    """Its cgroup stays an ordinary domain without groups in it."""
    found = of_v2(results, "container")
    assert (found["rung"], found["bound"]) == ("affinity and memory policy", ["0-1", "1"])
    assert results["container"].stdout.splitlines()[1:] == ["domain"]


def test_a_limited_service_keeps_its_limits(results: dict[str, Result]) -> None:
    """It is bound less rather than freed of them."""
    found = of_v2(results, "limited")
    assert found["rung"] == "affinity and memory policy"
    assert "service/memory.max limits this process to 314572800" in found["skipped"][0]
