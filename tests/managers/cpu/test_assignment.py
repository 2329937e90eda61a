"""One door to all assignment algorithms, and the recordings of the real ones."""

import gzip
import json
from itertools import islice
from pathlib import Path

import pytest

from numafit.bits import cpuset_text, parse_cpuset
from numafit.machine.topology import CpuTopology, cpu_topology
from numafit.managers.cpu.assignment import take, take_outcomes
from numafit.managers.cpu.pick.errors import PickError
from numafit.replay.inputs import machine_from_recording
from numafit.settings.options import CpuOptions
from numafit.settings.versions import behaviour_of, parse_version
from tests.machine.shapes import of_cores, regular

RECORDINGS = Path(__file__).resolve().parents[3].parent / "shared" / "oracle"
LINES = 400


@pytest.mark.parametrize("version", ["v1.20.1", "v1.27.3", "v1.34.11", "v1.36.4"])
def test_the_recorded_kubelet_came_to_the_same(version: str) -> None:
    """Kind `take` of the recordings; in 1.20 the recorded outcome is one of the possible ones."""
    file = RECORDINGS / version / "cpu-assign.jsonl.gz"
    if not file.exists():
        pytest.skip("the recordings are not here")
    behaviour = behaviour_of(parse_version(version))
    topologies: dict[str, CpuTopology] = {}
    wrong = []
    with gzip.open(file, "rt") as lines:
        for line in islice(lines, LINES):
            if '"kind":"take"' not in line:
                continue
            case = json.loads(line)
            asked, recorded = case["input"], case["expect"]
            name = asked["machine"]["name"]
            if name not in topologies:
                topologies[name] = cpu_topology(machine_from_recording(asked["machine"]), behaviour)
            ordered = asked["config"]["cpuManagerPolicyOptions"]
            options = CpuOptions(**{key.replace("-", "_"): value == "true" for key, value in ordered.items()})
            free = parse_cpuset(asked["available"])
            outcomes: list[tuple[str, str | None]]
            try:
                found = take_outcomes(topologies[name], behaviour, options, free, asked["numCPUs"])
                outcomes = [(cpuset_text(cpus), None) for cpus in found]
            except PickError as error:
                outcomes = [("", str(error))]
            if (recorded.get("cpus", ""), recorded["error"]) not in outcomes:
                wrong.append(case["id"])
    assert (len(topologies) > 10, wrong) == (True, [])


@pytest.mark.parametrize(
    ("version", "options", "expected"),
    [
        ("1.20", CpuOptions(), "0-1,8-9"),
        ("1.36", CpuOptions(), "0-1,8-9"),
        ("1.36", CpuOptions(distribute_cpus_across_cores=True), "0-3"),
        ("1.36", CpuOptions(prefer_align_cpus_by_uncorecache=True), "2-3,10-11"),
        ("1.36", CpuOptions(distribute_cpus_across_numa=True), "0-1,8-9"),
    ],
)
def test_each_option_has_its_algorithm(version: str, options: CpuOptions, expected: str) -> None:
    """4 CPUs of one NUMA node of 8 cores; the cache of cores 0 and 1 is the same as that of cores 4 to 7."""
    behaviour = behaviour_of(parse_version(version))
    caches = (0, 0, 1, 1, 0, 0, 0, 0)
    machine = of_cores(*[(0, 0, cache, (core, core + 8)) for core, cache in enumerate(caches)])
    topology = cpu_topology(machine, behaviour)
    assert cpuset_text(take(topology, behaviour, options, topology.cpus, 4)) == expected


def test_whole_cores_are_the_groups_of_full_pcpus_only() -> None:
    """Kubelet 1.23 and later: with both options CPUs are shared out by cores, else one by one."""
    behaviour = behaviour_of(parse_version("1.36"))
    topology = cpu_topology(regular(2, 2, 6, 2), behaviour)
    results = [
        cpuset_text(take(topology, behaviour, options, topology.cpus, 10))
        for options in (
            CpuOptions(distribute_cpus_across_numa=True),
            CpuOptions(distribute_cpus_across_numa=True, full_pcpus_only=True),
        )
    ]
    assert results == ["0-7,9-10", "0-4,6-10"]


def test_one_outcome_since_1_22() -> None:
    """The first of the outcomes is what `take` gives; random choice ended with 1.22."""
    machine = regular(2, 2, 28)
    free = parse_cpuset("1-13,17-27")
    numbers = {}
    for version in ("1.20", "1.21", "1.22", "1.36"):
        behaviour = behaviour_of(parse_version(version))
        topology = cpu_topology(machine, behaviour)
        outcomes = list(take_outcomes(topology, behaviour, CpuOptions(), free, 16))
        assert outcomes[0] == take(topology, behaviour, CpuOptions(), free, 16)
        numbers[version] = len(outcomes)
    assert numbers == {"1.20": 2, "1.21": 2, "1.22": 1, "1.36": 1}
