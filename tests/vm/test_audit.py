"""`numafit audit` in a virtual machine: it finds planted mistakes, and nothing where all is well."""

import json
from pathlib import Path
from typing import Any

import pytest

from tests.vm import Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

SECONDS = 240
"""For a job; on a host that has nothing else to do they take 10 to 15."""
SHAPE = Shape(nodes=(Node(cpus=4, memory=768), Node(cpus=4, memory=512)))
SCRIPTS = Path(__file__).with_name("jobs")
FILES = {name: (SCRIPTS / name).read_text() for name in ("where.py", "steps.sh", "stray.py", "drift.py", "heap.py")}

# Who runs the jobs looks every tenth of a second whether they have ended, which takes much of an emulated CPU.
LEASED = """. ./steps.sh
taskset -apc 7 $PPID > /dev/null
numafit run -q --cpus 2 -- python3 where.py 80 "$PWD/mark" &
until_true test -e mark
numafit audit --leases -o json > "$OUT/quiet"; echo $?
numafit audit --all -o json > "$OUT/all"; echo $?
taskset -c 0 sh -c 'while :; do :; done' &
intruder=$!
until_true grep -q '^Cpus_allowed_list:.0$' /proc/$intruder/status
numafit audit --leases -o json > "$OUT/intruder"; echo $?
echo $intruder
# The cure that was told.
taskset -apc 2-7 $intruder > /dev/null
numafit audit --leases -o json > "$OUT/cured"; echo $?
kill $intruder
rm mark
wait
numafit run -q --cpus 2 --interleave -- python3 where.py 100 "$PWD/spread" > "$OUT/where" &
until_true test -e spread
numafit audit --leases -o json > "$OUT/spread"; echo $?
taskset -apc 0-7 $PPID > /dev/null
rm spread
wait
"""

HELD = """. ./steps.sh
numafit run -q --cpus 4 -- taskset -c 1 sh -c 'touch confined; while [ -e confined ]; do sleep 0.1; done' &
until_true test -e confined
numafit audit --leases -o json > "$OUT/confined"; echo $?
rm confined
wait
numafit run -q --cpus 4 -- python3 heap.py 1 "$PWD/heap" &
until_true test -e heap
numafit audit --leases -o json > "$OUT/heap"; echo $?
rm heap
wait
hold "$PWD/offline" --cpus 4
echo 0 > /sys/devices/system/cpu/cpu2/online
numafit audit --leases -o json > "$OUT/offline"; echo $?
echo 1 > /sys/devices/system/cpu/cpu2/online
rm offline
wait
"""

# Small pages, so that their number is known.
FULL = """. ./steps.sh
echo never > /sys/kernel/mm/transparent_hugepage/enabled
hold "$PWD/first" --cpus 4
hold "$PWD/second" --cpus 2
numafit audit --leases --watch=2 -o json > "$OUT/looks" &
watch=$!
until_true test -s "$OUT/looks"
numactl --preferred=1 python3 where.py 600 "$PWD/full" > /dev/null &
until_true test -e full
# The look that is under way may have begun before that; the next one has seen all of it.
seen=$(wc -l < "$OUT/looks")
later() { test "$(wc -l < "$OUT/looks")" -ge $((seen + 2)); }
until_true later
kill $watch
rm first second full
wait
"""

LOOSE = """. ./steps.sh
for node in 0 1; do
    numactl --physcpubind=0-1 --membind=$node python3 where.py 100 "$PWD/mark$node" > /dev/null &
    until_true test -e mark$node
    numafit audit $! -o json > "$OUT/$node"; echo $?
    rm mark$node
done
numactl --physcpubind=0-1 --interleave=all python3 where.py 100 "$PWD/spread" > "$OUT/where" &
until_true test -e spread
numafit audit $! -o json > "$OUT/spread"; echo $?
rm spread
"""

WORKER = """. ./steps.sh
export NUMAFIT_STATE=$HOME/leases
numafit run -q --cpus 2 --memory-bind bind -- numactl --membind=1 python3 where.py 100 "$PWD/far" &
until_true test -e far
numafit audit --leases -o json > "$OUT/far"; echo $?
rm far
wait
numafit run -q --cpus 2 -- python3 stray.py "$PWD/stray" 5 &
until_true test -e stray
sleep 1
numafit audit --leases -o json > "$OUT/stray"; echo $?
rm stray
wait
numafit run -q --cpus 2 -- numactl --interleave=all python3 where.py 100 "$PWD/spread" > "$OUT/where" &
until_true test -e spread
numafit audit --leases -o json > "$OUT/spread"; echo $?
rm spread
"""

DRIFT = """. ./steps.sh
export NUMAFIT_STATE=$HOME/leases
numafit run -q --cpus 2 -- python3 drift.py 1 "$PWD/mark" &
until_true test -e mark
numafit audit --leases --watch=2 -o json > "$OUT/looks" &
watch=$!
until_true test -s "$OUT/looks"
touch mark.go
until_true grep -q NA017 "$OUT/looks"
kill $watch
rm mark
wait
"""

HIDE = "mount -o remount,hidepid=invisible /proc"
HIDDEN = """. ./steps.sh
export NUMAFIT_STATE=$HOME/leases
hold "$PWD/mark" --cpus 2
numafit audit --leases -o json > "$OUT/hidden"; echo $?
test -e /proc/1 || echo hidden
rm mark
wait
"""
SHOW = "mount -o remount,hidepid=off /proc"

JOBS = (
    Job("loose", LOOSE, FILES, timeout=SECONDS),
    Job("worker", WORKER, FILES, "worker", SECONDS),
    Job("leased", LEASED, FILES, timeout=SECONDS),
    Job("held", HELD, FILES, timeout=SECONDS),
    Job("full", FULL, FILES, timeout=SECONDS),
    Job("drift", DRIFT, FILES, "worker", SECONDS),
    Job("hide", HIDE),
    Job("hidden", HIDDEN, FILES, "worker", SECONDS),
    Job("show", SHOW),
)


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    return run_jobs(SHAPE, JOBS, tmp_path_factory.mktemp("vm"))


def findings(result: Result, name: str) -> dict[str, dict[str, Any]]:
    """By code."""
    return {found["code"]: found for found in json.loads((result.folder / name).read_text())["findings"]}


def statuses(result: Result) -> list[str]:
    return [line for line in result.stdout.splitlines() if line.isdecimal()]


def looks(result: Result) -> list[dict[str, Any]]:
    """Whole ones: the last may have been cut off."""
    lines = (result.folder / "looks").read_text().split("\n")[:-1]
    return [json.loads(line) for line in lines]


def test_an_ordinary_host_with_one_lease_has_no_finding(results: dict[str, Result]) -> None:
    """Its CPUs and pages are as promised; others may run there and do not. Also for every program; exit 0."""
    assert findings(results["leased"], "quiet") == findings(results["leased"], "all") == {}
    assert statuses(results["leased"])[:2] == ["0", "0"]


def test_an_intruder_on_exclusive_cpus_is_found(results: dict[str, Result]) -> None:
    """It and nothing else, with the command that moves it away; after that nothing is found any more."""
    *_, status, intruder, cured, _ = statuses(results["leased"])
    found = findings(results["leased"], "intruder")
    assert (status, list(found)) == ("1", ["NA007"])
    assert (found["NA007"]["others"], found["NA007"]["cure"]) == ([int(intruder)], f"taskset -apc 2-7 {intruder}")
    assert (cured, findings(results["leased"], "cured")) == ("0", {})


def test_a_job_that_may_use_fewer_cpus_than_it_holds_is_found(results: dict[str, Result]) -> None:
    found = findings(results["held"], "confined")
    assert list(found) == ["NA014"]
    assert found["NA014"]["sentence"].endswith(" may use only CPU 1, but it holds CPU 0-3")


def test_workers_in_a_heap_on_one_cpu_are_found(results: dict[str, Result]) -> None:
    """Three that compute, on CPU 1, while the job holds four."""
    found = findings(results["held"], "heap")
    assert list(found) == ["NA016"]
    assert found["NA016"]["sentence"] == (
        "3 busy threads may use only CPU 1, while none of its busy threads was on CPU 0,2-3 of those that it holds"
    )


def test_an_offline_cpu_of_a_lease_is_found(results: dict[str, Result]) -> None:
    """And not, beside that, that the job may use fewer."""
    found = findings(results["held"], "offline")
    assert list(found) == ["NA015"]
    assert found["NA015"]["sentence"] == "CPU 2 of its CPUs 0-3 is offline"
    assert statuses(results["held"]) == ["1", "1", "1"]


def test_allocations_that_miss_a_full_node_are_counted_and_found(results: dict[str, Result]) -> None:
    """600 MiB wanted on a node of 512 MiB: at least 88 MiB, in pages of 4 KiB, came from the other."""
    told = looks(results["full"])
    for node, kind in (("1", "foreign"), ("0", "miss")):
        assert sum(look["allocations"][node][kind] for look in told) >= (88 << 20) // 4096
    missed = [found for look in told for found in look["findings"] if found["code"] == "NA018"]
    assert {found["subject"] for found in missed} == {"NUMA node 1"}


def test_memory_that_drifts_away_is_found_with_its_numbers(results: dict[str, Result]) -> None:
    """40 MiB on node 0, then 60 MiB more on node 1 by who runs on node 0: remote allocations, in small pages."""
    first, *_, last = looks(results["drift"])
    (found,) = [one for one in last["findings"] if one["code"] == "NA017"]
    assert "outside of NUMA node 0 lay " in found["sentence"]
    assert first["findings"] == []
    nodes = last["jobs"][0]["memory"]
    assert nodes["1"] - first["jobs"][0]["memory"].get("1", 0) >= 60 << 20
    assert nodes["0"] >= 40 << 20
    assert sum(look["allocations"]["1"]["remote"] for look in looks(results["drift"])) >= (60 << 20) // 4096


def test_what_hidepid_hides_is_said(results: dict[str, Result]) -> None:
    """An ordinary user's lease: who else works on its CPUs cannot be seen."""
    assert "hidden" in results["hidden"].stdout.split()
    unseen = json.loads((results["hidden"].folder / "hidden").read_text())["unseen"]
    assert unseen == [
        "processes of other users, and what they do on CPUs of leases: "
        "/proc is mounted with hidepid=invisible; ask as root"
    ]


def test_memory_that_was_interleaved_on_purpose_is_no_finding(results: dict[str, Result]) -> None:
    """Without a lease, by a lease, and, for an ordinary user who may do so, inside of one; the kernel has spread it."""
    for name in ("loose", "leased", "worker"):
        pages = json.loads((results[name].folder / "where").read_text().splitlines()[0])["pages"]
        assert min(pages["0"], pages["1"]) > 40 << 20
        assert findings(results[name], "spread") == {}


def test_memory_far_from_the_cpus_is_found_without_a_lease(results: dict[str, Result]) -> None:
    """CPUs of node 0: memory bound there is well, bound to node 1 is not."""
    assert statuses(results["loose"]) == ["0", "1", "0"]
    assert findings(results["loose"], "0") == {}
    assert set(findings(results["loose"], "1")) == {"NA013"}


def test_memory_elsewhere_than_promised_is_found(results: dict[str, Result]) -> None:
    """An ordinary user's job may change its memory policy: numactl inside of it did."""
    found = findings(results["worker"], "far")
    assert {"NA001", "NA004"} <= set(found)
    assert "lies on NUMA node 1, but NUMA node 0 was promised" in found["NA001"]["sentence"]


def test_a_thread_outside_of_its_cpus_is_found(results: dict[str, Result]) -> None:
    """One of two, on CPU 5."""
    found = findings(results["worker"], "stray")
    assert found["NA002"]["sentence"] == "1 of 2 threads ran last on CPU 5, but CPU 0-1 was promised"
    assert statuses(results["worker"]) == ["1", "1", "0"]
