"""A guest with systemd as its first process: scopes hold what they are asked to hold, and cgroups of our own stay."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vm import Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

SHAPE = Shape(nodes=(Node(cpus=4, memory=512), Node(cpus=4, memory=384)), threads=2, sockets=2, init="systemd")
HERE = Path(__file__).parent
FILES = {
    "bind.py": (HERE.parent / "host" / "bind" / "bind_and_touch.py").read_text(),
    "steps.sh": (HERE / "jobs" / "steps.sh").read_text(),
}
ODD = "_a.b-c..9-.scope"
SCOPE = "/system.slice/numafit"

# What ProtectControlGroups= does to a service: cgroups can be read only, and the bus is still there.
PROTECTED = "unshare --mount sh -ec 'mount -o remount,bind,ro /sys/fs/cgroup; . ./inside.sh'"

# systemd takes notice of an end some time after it.
NO_UNITS = """
no_units() { test -z "$(systemctl list-units --all --plain --no-legend "numafit-*")"; }
until_true no_units
"""
BIND = f"""
. ./steps.sh
python3 bind.py {ODD} 4-5 1 strict rebind=4-7
{NO_UNITS}
test ! -e /sys/fs/cgroup{SCOPE}-{ODD}.scope
"""

RUN = f"""
. ./steps.sh
numafit run --cpus 2 --memory-bind bind -- sh command.sh
numafit ps -o json > "$OUT/left"
kill $(cat left)
until_true ended $(cat left)
numafit ps -o json > "$OUT/ended"
{NO_UNITS}
"""
COMMAND = """
unit=numafit-$NUMAFIT_LEASE.scope
properties=ControlGroup,AllowedCPUs,AllowedMemoryNodes,EffectiveCPUs,EffectiveMemoryNodes
sed -n 's/^0:://p' /proc/self/cgroup > "$OUT/cgroup"
systemctl show $unit -p $properties > "$OUT/unit"
systemctl daemon-reload
grep -h allowed_list: /proc/self/status
echo "$NUMAFIT_LEASE"
sleep 100 &
echo $! > left
"""

OWN = """
. ./steps.sh
top=/sys/fs/cgroup/cgroup.subtree_control
controller() { grep -q cpuset $top && echo "$1: cpuset" || echo "$1: none"; }
look() { controller "$1, $(cpus_of $(cat command)), $(sed 's/[^/]*$//' /proc/$(cat command)/cgroup)"; }
controller "at first"
echo +cpuset > $top
mkdir /sys/fs/cgroup/plain
systemctl daemon-reload
taken() { ! grep -q cpuset $top; }
until_true taken
controller "group without groups in it"
rmdir /sys/fs/cgroup/plain

numafit run --cpus 2 -- sh -c 'echo $$ > command; exec sleep 100' &
supervisor=$!
until_true test -s command
look run
systemctl daemon-reload
look daemon-reload
systemd-run --quiet --unit=other --property=AllowedCPUs=2-3 sleep 100
look started
systemctl stop other
look stopped
systemctl daemon-reexec
look daemon-reexec
kill $supervisor
wait $supervisor
"""

LINGER = """
. ./steps.sh
loginctl enable-linger worker
until_true test -S /run/user/1000/bus
"""
DELEGATE = """
. ./steps.sh
mkdir /etc/systemd/system/user@.service.d
printf '[Service]\\nDelegate=cpuset cpu memory pids\\n' > /etc/systemd/system/user@.service.d/cpuset.conf
systemctl daemon-reload
systemctl restart user@1000.service
until_true test -S /run/user/1000/bus
"""

JOBS = (
    Job("init", "cat /proc/1/comm"),
    Job("own", OWN, FILES),
    Job("bind", PROTECTED, {**FILES, "inside.sh": BIND}),
    Job("run", PROTECTED, {**FILES, "inside.sh": RUN, "command.sh": COMMAND}),
    Job("linger", LINGER, FILES),
    Job("worker", "python3 bind.py three 4-5 1", FILES, user="worker"),
    Job("delegate", DELEGATE, FILES),
    Job("delegated", "python3 bind.py four 4-5 1 strict rebind=4-7", FILES, user="worker"),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return run_jobs(SHAPE, JOBS, tmp_path_factory.mktemp("vm"))


def told(result: Result) -> dict[str, Any]:
    assert (result.status, result.stderr) == (0, "")
    record: dict[str, Any] = json.loads(result.stdout.splitlines()[0])
    return record


def leases(result: Result, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((result.folder / name).read_text())["leases"]
    return found


def test_systemd_is_the_first_process(results: dict[str, Result]) -> None:
    """Else the other tests would say nothing."""
    assert results["init"].stdout == "systemd\n"


def test_a_scope_holds_root_where_cgroups_cannot_be_made(results: dict[str, Result]) -> None:
    """Whatever characters the lease has; its pages lie on its NUMA node, and the scope is found by its name."""
    found = told(results["bind"])
    assert (found["rung"], found["cgroup"]) == ("systemd scope", f"/sys/fs/cgroup{SCOPE}-{ODD}.scope")
    assert (found["bound"], found["status"], list(found["pages"])) == (["4-5", "1"], ["4-5", "1"], ["1"])
    assert found["existing"] == [[ODD, "4-5", "1"]]
    assert "Read-only file system" in found["skipped"][0]


def test_running_processes_follow_a_scope_that_is_changed(results: dict[str, Result]) -> None:
    """Through systemd; those in it are known by its cgroup."""
    found = told(results["bind"])
    assert (found["moved"], found["child"], found["members"]) == ("4-7", "4-7", 2)


def test_a_scope_ends_with_its_last_process(results: dict[str, Result]) -> None:
    """Neither the cgroup nor the unit is left: the job waits for that, and fails when it waits in vain."""
    assert (results["bind"].status, results["bind"].stderr) == (0, "")


def test_a_command_runs_in_a_scope(results: dict[str, Result]) -> None:
    """systemd and the kernel say the same, also after systemd has read its units again."""
    result = results["run"]
    cpus, mems, lease = result.stdout.splitlines()
    group = f"{SCOPE}-{lease}.scope"
    assert (cpus, mems) == ("Cpus_allowed_list:\t0-1", "Mems_allowed_list:\t0")
    assert (result.folder / "cgroup").read_text() == f"{group}\n"
    assert set((result.folder / "unit").read_text().split()) == {
        f"ControlGroup={group}",
        *("AllowedCPUs=0-1", "EffectiveCPUs=0-1", "AllowedMemoryNodes=0", "EffectiveMemoryNodes=0"),
    }
    assert f"lease {lease}: CPUs 0-1, memory of node 0; bound by systemd scope\n" in result.stderr


def test_a_process_that_stays_in_a_scope_keeps_the_lease(results: dict[str, Result]) -> None:
    """Its cgroup is written down; when it has ended, the lease and the scope are gone."""
    result = results["run"]
    lease = result.stdout.splitlines()[-1]
    left = [(found["id"], found["rung"], found["cgroup"]) for found in leases(result, "left")]
    assert left == [(lease, "systemd scope", f"/sys/fs/cgroup{SCOPE}-{lease}.scope")]
    assert (result.status, leases(result, "ended")) == (0, [])


def test_systemd_takes_the_controller_from_a_group_that_does_not_hand_it_on(results: dict[str, Result]) -> None:
    """It clears what it did not set; so ours has to be kept by the groups in it."""
    assert results["own"].stdout.splitlines()[:2] == ["at first: none", "group without groups in it: none"]


def test_a_cgroup_of_our_own_stays_whatever_systemd_does(results: dict[str, Result]) -> None:
    """The group, its CPUs and the controller: after a reload, after another unit with CPUs of its own came and went,
    and after systemd has executed itself again."""
    steps = ("run", "daemon-reload", "started", "stopped", "daemon-reexec")
    assert results["own"].stdout.splitlines()[2:] == [f"{step}, 0-1, 0::/numafit/: cpuset" for step in steps]
    assert "bound by cgroup v2 (preferred 0)\n" in results["own"].stderr


def test_an_ordinary_user_steps_down_where_his_manager_has_no_cpusets(results: dict[str, Result]) -> None:
    """As Debian has it; the reason names the cure."""
    found = told(results["worker"])
    assert (found["rung"], found["bound"]) == ("affinity and memory policy", ["4-5", "1"])
    assert found["skipped"][-1] == (
        "systemd scope: the systemd manager of user 1000 has no cpuset controller (Delegate=cpuset gives it)"
    )


def test_an_ordinary_user_is_held_by_a_scope_once_his_manager_has_cpusets(results: dict[str, Result]) -> None:
    """Also a process from outside of that manager, which does not say where its bus is."""
    found = told(results["delegated"])
    group = "/sys/fs/cgroup/user.slice/user-1000.slice/user@1000.service/app.slice/numafit-four.scope"
    assert (found["rung"], found["cgroup"]) == ("systemd scope", group)
    assert (found["status"], list(found["pages"])) == (["4-5", "1"], ["1"])
    assert (found["moved"], found["child"]) == ("4-7", "4-7")
