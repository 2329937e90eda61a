"""`numafit audit` beside systemd: an ordinary tree of services has no finding, a service that works there does."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vm import Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

SECONDS = 600
"""On a host that has nothing else to do it takes a tenth of that."""
SHAPE = Shape(nodes=(Node(cpus=4, memory=512), Node(cpus=4, memory=384)), init="systemd")
FILES = {"steps.sh": Path(__file__).with_name("jobs").joinpath("steps.sh").read_text()}

# Who runs the job looks every tenth of a second whether it has ended, which takes much of an emulated CPU.
HOST = """. ./steps.sh
taskset -apc 7 $PPID > /dev/null
loginctl enable-linger worker
for name in systemd-journald systemd-logind user@1000; do systemctl start $name 2> /dev/null; done
systemd-run --quiet --unit=quiet sleep 1000
systemd-run --quiet --unit=narrow --property=AllowedCPUs=3,7 sleep 1000
no_jobs() { test -z "$(systemctl list-jobs --no-legend)"; }
until_true no_jobs

hold "$PWD/mark" --cpus 2
cat /proc/[0-9]*/cgroup > "$OUT/groups"
numafit audit --leases -o json > "$OUT/leases"; echo $?
numafit audit --all -o json > "$OUT/all"; echo $?

systemd-run --quiet --unit=noisy taskset -c 0 sh -c 'while :; do :; done'
noisy=$(systemctl show -p MainPID --value noisy)
until_true grep -q '^Cpus_allowed_list:.0$' /proc/$noisy/status
numafit audit --leases -o json > "$OUT/noisy"; echo $?
echo $noisy
python3 -c 'import json, sys; print(json.load(sys.stdin)["findings"][0]["cure"])' < "$OUT/noisy" > cure.sh
sh -e ./cure.sh
numafit audit --leases -o json > "$OUT/cured"; echo $?
cpus_of $noisy > "$OUT/noisy-cpus"
cpus_of 1 > "$OUT/first-cpus"
systemctl stop noisy quiet narrow
rm mark
wait
"""


@pytest.fixture(scope="module")
def result(tmp_path_factory: pytest.TempPathFactory) -> Result:
    return run_jobs(SHAPE, (Job("host", HOST, FILES, timeout=SECONDS),), tmp_path_factory.mktemp("vm"))["host"]


def findings(result: Result, name: str) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads((result.folder / name).read_text())["findings"]
    return found


def statuses(result: Result) -> list[str]:
    return [line for line in result.stdout.splitlines() if line.isdecimal()]


def test_the_tree_is_one_of_systemd(result: Result) -> None:
    """Else the other tests would say nothing: services, the manager of a user, and one kept to two nodes."""
    groups = (result.folder / "groups").read_text()
    for part in ("::/init.scope", "/system.slice/quiet.service", "/system.slice/narrow.service", "/user@1000.service/"):
        assert part in groups


def test_an_ordinary_systemd_host_with_one_lease_has_no_finding(result: Result) -> None:
    """Also with every program looked at: a service that sleeps on CPUs of two NUMA nodes is no matter. Exit 0."""
    assert findings(result, "leases") == findings(result, "all") == []
    assert statuses(result)[:2] == ["0", "0"]


def test_a_busy_service_on_exclusive_cpus_is_found_with_its_unit(result: Result) -> None:
    """The cure names the service, not its slice, in which leases may live, and not process 1."""
    *_, status, noisy, _ = statuses(result)
    (found,) = findings(result, "noisy")
    assert (status, found["code"], found["others"]) == ("1", "NA007", [int(noisy)])
    assert found["cure"] == "systemctl set-property --runtime noisy.service AllowedCPUs=2-7"


def test_the_cure_that_is_told_cures(result: Result) -> None:
    """The kernel keeps the service away, process 1 may still run everywhere, and nothing is found any more."""
    assert (statuses(result)[-1], findings(result, "cured")) == ("0", [])
    assert (result.folder / "noisy-cpus").read_text() == "2-7\n"
    assert (result.folder / "first-cpus").read_text() == "0-7\n"
