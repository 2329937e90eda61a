"""`numafit run` in virtual machines: processes and their pages really lie where the lease says."""

import json
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.real.observer import numbers
from tests.vm import Job, Result, Shape, run_jobs
from tests.vm.shapes import MEMORY_ONLY, TWO_SOCKETS

pytestmark = pytest.mark.real

MIB = 1 << 20
JOBS = Path(__file__).with_name("jobs")
REAL = Path(__file__).resolve().parents[1] / "real"
FILES = {name: (JOBS / name).read_text() for name in ("where.py", "steps.sh")}
EDU = "example.com/edu"
FULLY = "cgroup v2"
"""The machine that all jobs run in."""
STORM_JOBS = 12
SECONDS = 240
"""For a job; on a host that has nothing else to do they take 5 to 15, the storm 45."""


class Case(NamedTuple):
    shape: Shape
    rung: str
    full: int
    """CPUs of NUMA node 0: one job on all of them drives the next one to another node."""
    devices_held: int
    """So many others hold; the next one lies on `device_node`."""
    device_node: int
    namespaced: str
    """The rung in a container that has a cgroup namespace of its own."""


Booted = tuple[Case, dict[str, Result]]

CASES = {
    "cgroup v2": Case(TWO_SOCKETS, "cgroup v2", 8, 2, 1, "affinity"),
    "cgroup v1": Case(MEMORY_ONLY, "cgroup v1", 4, 0, 2, "cgroup v1"),
}


def devices(shape: Shape) -> str:
    """host.yaml: the driver of these devices has no resource of its own."""
    lines = [f'- {{resource: {EDU}, id: "{address}", numa: {node}}}' for address, node in shape.addresses()]
    return "\n".join(["devices:", *lines, ""])


def job(name: str, script: str, **more: Any) -> Job:
    return Job(name, f". ./steps.sh\n{script}", {**FILES, **more.pop("files", {})}, timeout=SECONDS, **more)


def jobs(case: Case) -> list[Job]:
    full = case.full
    # The ledger belongs to the group that exists when it is made.
    start = "groupadd numafit && numafit run -q -- true && cp host.yaml /var/lib/numafit/ && numafit free -o json"
    box = f"{full}-{full + 2}"
    return [
        job("start", start, files={"host.yaml": devices(case.shape)}),
        job(
            "aligned",
            f"""
            hold first --cpus {full}
            numafit run --cpus 2 --memory 200Mi --policy single-numa-node -- python3 where.py 150
            numafit ps -o json > "$OUT/ps"
            rm first
            """,
        ),
        job(
            "device",
            f"""
            hold first --cpus 1 --device {EDU}={case.devices_held}
            numafit run --cpus 2 --memory 100Mi --device {EDU}=1 --policy single-numa-node -- python3 where.py 50
            rm first
            """,
        ),
        job(
            "shared",
            f"""
            numafit run -q --shared -- sh -c 'sleep 100 & echo $! > second; echo $$ > first; wait' &
            supervisor=$!
            until_true test -s first
            for _ in 1 2; do cpus_of $(cat first); cpus_of $(cat second); done
            hold taken --cpus {full}
            cpus_of $(cat first); cpus_of $(cat second)
            rm taken
            until_true widened $(cat first)
            cpus_of $(cat first); cpus_of $(cat second)
            kill $supervisor $(cat second)
            """,
        ),
        job(
            "killed",
            f"""
            numafit run -q --cpus 1 --device {EDU}=1 -- sh -c 'echo $$ > command; exec sleep 100' &
            supervisor=$!
            until_true test -s command
            kill -9 $supervisor
            numafit ps -o json > "$OUT/orphan"
            cpus_of $(cat command)
            kill -9 $(cat command)
            until_true ended $(cat command)
            numafit ps -o json > "$OUT/none"
            numafit run -q --cpus 1 -- sh -c 'kill -9 $$'; echo $?
            numafit ps -o json > "$OUT/after"
            find /sys/fs/cgroup -path '*/numafit/*' -type d
            """,
        ),
        job(
            "worker",
            f"""
            export NUMAFIT_STATE=$HOME/leases
            hold first --cpus {full}
            numafit run --cpus 2 -- python3 where.py 100
            rm first
            numafit run --cpus 1 --strict -- echo ran; echo $?
            """,
            user="worker",
        ),
        job(
            "restricted",
            f"""
            if [ -d /sys/fs/cgroup/cpuset ]; then cd /sys/fs/cgroup/cpuset; else cd /sys/fs/cgroup; fi
            mkdir box && echo {box} > box/cpuset.cpus && echo 1 > box/cpuset.mems
            cd "$OLDPWD"
            export NUMAFIT_STATE=/tmp/box
            sh enter.sh sh inside.sh plain
            sh enter.sh unshare --cgroup --mount --pid --fork --mount-proc sh inside.sh container
            """,
            files={"enter.sh": ENTER, "inside.sh": INSIDE},
        ),
    ]


ENTER = """
group=/sys/fs/cgroup/box
[ -d $group ] || group=/sys/fs/cgroup/cpuset/box
echo $$ > $group/cgroup.procs
exec "$@"
"""

INSIDE = """
if [ "$1" = container ]; then
    if [ -d /sys/fs/cgroup/cpuset ]; then
        umount /sys/fs/cgroup/cpuset && mount -t cgroup -o cpuset none /sys/fs/cgroup/cpuset
    else
        umount /sys/fs/cgroup && mount -t cgroup2 none /sys/fs/cgroup
    fi
fi
numafit run --cpus 2 -- python3 where.py 20 > "$OUT/$1" 2> "$OUT/$1.told"
numafit run --cpus 4 -- echo ran 2> "$OUT/$1.refused"; echo $?
"""


def more_jobs(case: Case) -> list[Job]:
    """What depends on no version of cgroups runs in one machine only: each start takes its time under emulation."""
    full = case.full
    return [
        job(
            "crossing",
            f"""
            numafit run --cpus {full + 1} --policy single-numa-node -- echo ran; echo $?
            numafit run --cpus 1 --memory 1200Mi --policy single-numa-node -- echo ran; echo $?
            numafit run -q --cpus {full + 1} -- python3 where.py 1
            """,
        ),
        job(
            "group",
            f"""
            hold first --cpus {full}
            setpriv --reuid worker --regid worker --clear-groups numafit run --cpus 1 -- true; echo $?
            become="setpriv --reuid worker --regid worker --groups numafit"
            $become numafit run --cpus 1 --name mine -- python3 where.py 10
            $become numafit release --force $(numafit ps -o json | sed -n 's/.*"id": "\\(.*\\)".*/\\1/p'); echo $?
            rm first
            """,
        ),
        job(
            "ranks",
            """
            numafit run -q --cpus 12 -- sh -c '
                for rank in 0 1 2 3; do
                    LOCAL_RANK=$rank LOCAL_WORLD_SIZE=4 numafit rank -- python3 where.py 20 > "$OUT/$rank" &
                done
                wait'
            """,
        ),
        job(
            "delegated",
            """
            mkdir /sys/fs/cgroup/session
            echo "+cpuset +memory" > /sys/fs/cgroup/session/cgroup.subtree_control
            mkdir /sys/fs/cgroup/session/shell
            chown -R worker /sys/fs/cgroup/session
            echo $$ > /sys/fs/cgroup/session/shell/cgroup.procs
            NUMAFIT_STATE=/home/worker/delegated exec setpriv --reuid worker --regid worker --clear-groups \\
                numafit run --cpus 2 -- python3 where.py 10
            """,
        ),
        storm(),
    ]


def storm() -> Job:
    plan = {
        "numafit": ["numafit"],
        "ledger": "/var/lib/storm",
        "requests": [["--shared"], *(["--cpus", str(cpus), "--wait=60s"] for cpus in (1, 1, 2, 2, 3, 4, 6, 9))],
        "jobs": STORM_JOBS,
        "atOnce": STORM_JOBS,
        "longest": 6.0,
        "seconds": 45,
        "pause": 0.2,
        "kills": 0.03,
        "seed": 3,
    }
    files = {"plan.json": json.dumps(plan), **{name: (REAL / name).read_text() for name in ("storm.py", "observer.py")}}
    script = """
    python3 storm.py plan.json
    numafit ps -o json --state-dir /var/lib/storm > "$OUT/left"
    numafit history -n 1000 -o json --state-dir /var/lib/storm > "$OUT/history"
    """
    return job("storm", script, files=files)


@pytest.fixture(scope="module", params=CASES, ids=str)
def booted(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Booted:
    case = CASES[request.param]
    more = more_jobs(case) if request.param == FULLY else []
    results = run_jobs(case.shape, [*jobs(case), *more], tmp_path_factory.mktemp("vm"))
    assert results["start"].status == 0, results["start"].stderr
    return case, results


with_more = pytest.mark.parametrize("booted", [FULLY], indirect=True)


def told(text: str) -> dict[str, Any]:
    """The line of `where.py`."""
    return dict(json.loads(next(line for line in text.splitlines() if line.startswith("{"))))


def leases(result: Result, name: str) -> list[dict[str, Any]]:
    return list(json.loads((result.folder / name).read_text())["leases"])


def check_place(case: Case, where: dict[str, Any], cpus: int, node: int, mib: int) -> None:
    """The CPUs lie on one NUMA node, and so do all pages; the kernel, numactl and the lease agree. Memory is bound for
    who asked for some, else preferred where there is a choice."""
    home = case.shape.cpus_of(node)
    wanted = f"{home[0]}-{home[cpus - 1]}" if cpus > 1 else str(home[0])
    variables = where["variables"]
    assert (where["cpus"], variables["NUMAFIT_CPUS"], variables["NUMAFIT_MEMS"]) == (wanted, wanted, str(node))
    assert where["numactl"]["physcpubind"].split() == [str(cpu) for cpu in home[:cpus]]
    if "NUMAFIT_MEMORY" in variables:
        assert where["numactl"]["membind"] == str(node)
    elif where["mems"] != str(node):
        assert (where["numactl"]["policy"], where["numactl"]["preferred node"]) == ("preferred", str(node))
    assert set(where["pages"]) == {str(node)}
    assert where["pages"][str(node)] >= mib * MIB


def test_a_job_and_its_pages_lie_on_the_node_of_its_lease(booted: Booted) -> None:
    """The first NUMA node is full, so it is the second; a cpuset holds CPUs and memory."""
    case, results = booted
    where = told(results["aligned"].stdout)
    check_place(case, where, cpus=2, node=1, mib=150)
    assert (where["mems"], where["variables"]["NUMAFIT_MEMORY"]) == ("1", f"{200 * MIB}@1")
    lease = where["variables"]["NUMAFIT_LEASE"]
    assert results["aligned"].stderr == (
        f"numafit: lease {lease}: CPUs {where['cpus']}, memory of node 1; bound by {case.rung}\n"
    )
    assert [held["nodes"] for held in leases(results["aligned"], "ps")] == ["0"]


def test_device_cpus_and_memory_lie_on_one_node(booted: Booted) -> None:
    """Where the next free device is, there go the others."""
    case, results = booted
    where = told(results["device"].stdout)
    check_place(case, where, cpus=2, node=case.device_node, mib=50)
    _, _, device = where["variables"]["NUMAFIT_DEVICES"].partition("=")
    assert dict(case.shape.addresses())[device] == case.device_node


@with_more
def test_what_does_not_fit_one_node_is_refused_or_crosses(booted: Booted) -> None:
    """single-numa-node refuses with 75 and starts nothing; best-effort takes CPUs and memory of two nodes, in whole
    cores."""
    case, results = booted
    assert results["crossing"].stdout.startswith("75\n75\n{")
    where = told(results["crossing"].stdout)
    assert (where["cpus"], where["mems"]) == (f"0-{case.full + 1}", "0-1")
    first, second = results["crossing"].stderr.splitlines()
    assert (f"no lease for {case.full + 1} CPUs" in first, "1200Mi" in second) == (True, True)


def test_shared_work_moves_when_the_pool_shrinks_and_grows(booted: Booted) -> None:
    """Both of its processes, at once when somebody takes CPUs, and back when they are free again."""
    case, results = booted
    last = case.shape.cpus - 1
    everywhere, rest = f"0-{last}", f"{case.full}-{last}"
    assert results["shared"].stdout.split() == [everywhere] * 4 + [rest] * 2 + [everywhere] * 2
    assert results["shared"].stderr == ""


def test_a_killed_supervisor_leaves_its_command_the_lease(booted: Booted) -> None:
    """It ends with the command; nothing of either is left. A killed command shows as 137."""
    _, results = booted
    result = results["killed"]
    (orphan,) = leases(result, "orphan")
    assert [orphan["exclusive"], "137"] == result.stdout.split()
    assert len(orphan["devices"][EDU]) == 1
    assert (leases(result, "none"), leases(result, "after")) == ([], [])


def test_an_ordinary_user_is_bound_by_affinity_and_memory_policy(booted: Booted) -> None:
    """Pages lie on the node all the same; why it was not more is said, and --strict starts nothing."""
    case, results = booted
    where = told(results["worker"].stdout)
    check_place(case, where, cpus=2, node=1, mib=100)
    lines = results["worker"].stderr.splitlines()
    assert lines[0].endswith("memory of node 1 first; bound by affinity and memory policy (preferred 1)")
    assert any(line.startswith(f"numafit: not bound by {case.rung}: ") and "only root" in line for line in lines)
    assert results["worker"].stdout.endswith("}\n2\n")
    assert "cannot be held by a cpuset" in lines[-1]


@with_more
def test_users_share_the_ledger_of_the_host_through_its_group(booted: Booted) -> None:
    """A member stays away from what root holds and may not release it; others are told to join. One CPU is a core."""
    case, results = booted
    result = results["group"]
    assert result.stdout.startswith("2\n{")
    check_place(case, told(result.stdout), cpus=case.shape.threads, node=1, mib=10)
    assert result.stdout.endswith("}\n2\n")
    assert "join the group numafit and log in again" in result.stderr
    assert "belongs to root" in result.stderr


@pytest.mark.parametrize("inside", ["plain", "container"])
def test_a_restricted_process_gets_only_what_it_may_use(booted: Booted, inside: str) -> None:
    """Three CPUs and the memory of the second node, in a cpuset and in namespaces of a container: two fit, four do not,
    and no cpuset of a lease lets it out."""
    case, results = booted
    folder = results["restricted"].folder
    where = told((folder / inside).read_text())
    check_place(case, where, cpus=2, node=1, mib=20)
    assert where["mems"] == "1"
    rung = case.rung if inside == "plain" else case.namespaced
    assert f"; bound by {rung}" in (folder / f"{inside}.told").read_text()
    assert results["restricted"].stdout == "75\n75\n"
    cores = " in whole cores" if case.shape.threads > 1 else ""
    assert f"4 CPUs{cores} are asked for and 3 are free" in (folder / f"{inside}.refused").read_text()


@with_more
def test_ranks_divide_the_lease(booted: Booted) -> None:
    """Their CPUs do not overlap and are all of the lease's; each has its CPUs and pages on one node."""
    result = booted[1]["ranks"]
    places = [told((result.folder / str(rank)).read_text()) for rank in range(4)]
    cpus = [cpu for place in places for cpu in numbers(place["cpus"])]
    assert sorted(cpus) == list(range(12))
    for place in places:
        nodes = {booted[0].shape.socket_of(cpu) for cpu in numbers(place["cpus"])}
        assert {int(node) for node in place["pages"]} == nodes
        assert (place["numactl"]["policy"], place["numactl"]["preferred"]) == ("preferred", str(*nodes))
    assert {node for place in places for node in place["pages"]} == {"0", "1"}


@with_more
def test_a_delegated_cgroup_is_not_needed(booted: Booted) -> None:
    """A user with a cgroup of his own, as systemd gives it: he is bound at least as well as without."""
    where = told(booted[1]["delegated"].stdout)
    check_place(booted[0], where, cpus=2, node=0, mib=10)


@with_more
def test_a_storm_on_many_cpus(booted: Booted, capsys: pytest.CaptureFixture[str]) -> None:
    """No CPU at two living jobs at any look, each job on its own CPUs, and all leases given back once."""
    result = booted[1]["storm"]
    storm = json.loads(result.stdout)
    seen = storm["observer"]
    with capsys.disabled():
        print(
            f"\nstorm: {storm['jobs']} jobs, killed {storm['killed']}, statuses {storm['statuses']}; "
            f"{seen['looks']} looks, {len(seen['lastSeen'])} leases seen, at most {seen['most']} in one look"
        )
    assert (seen["twice"], seen["strayed"], seen["intruded"], storm["outlived"]) == ([], [], [], 0)
    assert (storm["jobs"], seen["looks"] > 0) == (STORM_JOBS, True)
    assert leases(result, "left") == []
    history = json.loads((result.folder / "history").read_text())["history"]
    taken = sorted(entry["lease"] for entry in history if entry["event"] == "taken")
    assert taken == sorted(entry["lease"] for entry in history if entry["event"] in ("released", "freed"))
    # How many of them the observer meets alive depends on how fast the emulated machine is.
    assert len(taken) > 1
    assert set(seen["lastSeen"]) <= set(taken)
