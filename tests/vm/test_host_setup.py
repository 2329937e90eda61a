"""`numafit host setup` in a guest with systemd as its first process: units that systemd takes, and CPUs that the kernel
really keeps services and sessions on.
"""

from pathlib import Path

import pytest

from tests.vm import Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

SHAPE = Shape(nodes=(Node(cpus=4, memory=512), Node(cpus=4, memory=384)), sockets=2, init="systemd")
FILES = {"steps.sh": (Path(__file__).parent / "jobs" / "steps.sh").read_text()}

# A service has no variables of the jobs, by which numafit is found here.
INSTALLED = """
printf '#!/bin/sh\\nPYTHONPATH=%s exec python3 -m numafit "$@"\\n' "$PYTHONPATH" > /usr/local/bin/numafit
"""
CPUS = """
cpus() { echo "$1: $(cat /sys/fs/cgroup/$2/cpuset.cpus.effective)"; }
"""

SETUP = f"""
{INSTALLED}
numafit host setup --user worker > "$OUT/first"
numafit host setup --user worker > "$OUT/second"
systemd-analyze verify /etc/systemd/system/numafit-sweep.service /etc/systemd/system/numafit-sweep.timer
systemctl is-active numafit-sweep.timer
systemctl is-enabled numafit-sweep.timer
rmdir /var/lib/numafit/commands
systemd-tmpfiles --create /etc/tmpfiles.d/numafit.conf
stat -c '%a %U:%G %n' /var/lib/numafit /var/lib/numafit/commands /var/lib/numafit/leases.db
"""

# As after a new login: the groups are read anew.
MEMBER = """
setpriv --reuid worker --regid worker --init-groups sh -ec 'numafit run -q --cpus 1 -- id -nG; numafit ps'
"""

# The watcher is killed: nobody but the timer's service ends the job.
SWEEP = """
. ./steps.sh
numafit run -q --cpus 1 --time 1s -- sh -c 'echo $$ > command; exec sleep 100' &
watcher=$!
until_true test -s command
kill -9 $watcher
wait $watcher
sleep 2
systemctl start numafit-sweep.service
systemctl show -p Result numafit-sweep.service
until_true ended $(cat command)
numafit ps
numafit history -n 3 | awk 'NR > 1 {print $2}'
"""

CONFINE = f"""
{CPUS}
systemd-run --quiet --slice=user-0.slice --unit=session sleep 10000
numafit host setup --housekeeping 0-1 --sessions
cpus services system.slice
cpus sessions user.slice
cpus all .
systemd-run --quiet --wait --pipe grep Cpus_allowed_list /proc/self/status
systemd-run --quiet --wait --pipe --slice=user-0.slice \\
    numafit run -q --cpus 4 -- grep Cpus_allowed_list /proc/self/status
systemd-run --quiet --wait --pipe numafit run -q --cpus 7 -- true 2>&1 || echo "status $?"
systemd-run --quiet --wait --pipe --slice=user-1000.slice --uid=worker \\
    numafit run -q --cpus 1 -- true 2>&1 || echo "status $?"
"""

UNDO = f"""
{CPUS}
numafit host setup --undo
cpus services system.slice
cpus sessions user.slice
find / -xdev -name '*numafit*' -not -path '/job/*' -not -path '/usr/local/*' -not -path '/sys/*' -not -path '/out/*'
getent group numafit || echo "no group"
systemctl list-unit-files 'numafit*' --no-legend || true
"""

JOBS = (
    Job("setup", SETUP, FILES, timeout=300),
    Job("member", MEMBER, FILES, timeout=300),
    Job("sweep", SWEEP, FILES, timeout=300),
    Job("confine", CONFINE, FILES, timeout=600),
    Job("undo", UNDO, FILES, timeout=300),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return run_jobs(SHAPE, JOBS, tmp_path_factory.mktemp("vm"), boot_seconds=600.0)


def test_systemd_takes_the_units(results: dict[str, Result]) -> None:
    """It finds no fault with them, the timer runs, and tmpfiles gives a folder that was deleted its rights again."""
    result = results["setup"]
    first, second = ((result.folder / name).read_text().splitlines() for name in ("first", "second"))
    assert "timer numafit-sweep.timer, each minute: started" in first
    assert "file /etc/tmpfiles.d/numafit.conf: written" in first
    assert {line.rpartition(": ")[2] for line in second if ": " in line} == {"as it should be"}
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.splitlines() == [
        "active",
        "enabled",
        "3770 root:numafit /var/lib/numafit",
        "3770 root:numafit /var/lib/numafit/commands",
        "660 root:numafit /var/lib/numafit/leases.db",
    ]


def test_a_member_uses_the_ledger_of_the_host(results: dict[str, Result]) -> None:
    """Without a word about a ledger of his own."""
    result = results["member"]
    assert (result.status, result.stderr) == (0, "")
    assert result.stdout.splitlines() == ["worker numafit", "No leases: nobody holds anything."]


def test_the_sweep_ends_a_job_that_nobody_watches(results: dict[str, Result]) -> None:
    result = results["sweep"]
    assert result.stdout.splitlines() == [
        "Result=success",
        "No leases: nobody holds anything.",
        *("freed", "expired", "taken"),
    ], result.stderr


def test_services_and_sessions_are_kept_on_the_housekeeping_cpus(results: dict[str, Result]) -> None:
    """As the kernel tells it; the jobs of root get the others, and none gets those."""
    result = results["confine"]
    lines = result.stdout.splitlines()
    assert "system.slice on CPUs 0-1: confined" in lines
    assert "user.slice on CPUs 0-1: confined" in lines
    told = lines[lines.index("services: 0-1") :]
    assert told[:4] == ["services: 0-1", "sessions: 0-1", "all: 0-7", "Cpus_allowed_list:\t0-1"], result
    assert told[4] == "Cpus_allowed_list:\t4-7"
    assert told[5].startswith("numafit: no lease for 7 CPUs: 7 CPUs are asked for and 6 are free")
    assert told[6] == "status 75"
    assert told[7].startswith("numafit: no lease for 1 CPU: this process may run on CPUs 0-1 only, which are kept back")
    assert told[8] == "status 75"


def test_undo_leaves_nothing(results: dict[str, Result]) -> None:
    result = results["undo"]
    lines = result.stdout.splitlines()
    told = lines[lines.index("services: 0-7") :]
    assert told == ["services: 0-7", "sessions: 0-7", "no group"], result.stdout + result.stderr
    assert result.status == 0
