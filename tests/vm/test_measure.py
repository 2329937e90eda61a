"""`numafit measure` in a virtual machine. Figures mean little there; where memory lies, and what is said, does."""

import json
import re
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

from numafit.bits import mask_of
from tests.vm import Job, Node, Result, Shape, run_jobs

pytestmark = pytest.mark.real

SECONDS = 480
"""For a job; on a host that has nothing else to do they take 10 to 30."""
SHAPE = Shape(
    nodes=(Node(cpus=2, memory=640), Node(cpus=2, memory=384), Node(cpus=0, memory=256)),
    distances=((10, 21, 17), (21, 10, 28), (17, 28, 10)),
)
FILES = {
    "steps.sh": (Path(__file__).with_name("jobs") / "steps.sh").read_text(),
    "look.py": """import re
touched = bytearray(32 << 20)
touched[::4096] = b"x" * len(touched[::4096])
status = open("/proc/self/status").read()
maps = [line for line in open("/proc/self/numa_maps") if "anon=" in line]
largest = max(maps, key=lambda line: int(re.search(r"anon=(\\d+)", line)[1]))
print(re.search(r"Cpus_allowed_list:\\s*(\\S+)", status)[1], largest, file=open("seen", "a"), end="")
""",
    "stop.py": """import signal, subprocess, sys, time
signal.signal(signal.SIGINT, signal.SIG_DFL)
words = ["numafit", "measure", "--size", "8Mi", "--rounds", "100", "-o", "json"]
measuring = subprocess.Popen(words)
# The last node is filled; then the rounds begin.
while " prefer:2 " not in open(f"/proc/{measuring.pid}/numa_maps").read():
    time.sleep(1)
time.sleep(15)
measuring.send_signal(signal.SIGINT)
sys.exit(measuring.wait())
""",
    "slow.sh": """case $(cat /proc/self/numa_maps) in
    *prefer:1*) ;;
    *prefer*) sleep 8 ;;
    *) sleep 5 ;;
esac
""",
    "heed.py": """import os, signal, sys
# A shell without a terminal may have told its children to take no notice of it.
signal.signal(signal.SIGINT, signal.SIG_DFL)
os.execvp(sys.argv[1], sys.argv[1:])
""",
}

MACHINE = """
numafit measure --size 8Mi --rounds 2 -o json > $OUT/measured &
numafit=$!
# From outside: what the kernel says of its memory while it measures.
while kill -0 $numafit 2> /dev/null; do
    grep -h ' prefer' /proc/$numafit/numa_maps >> $OUT/maps 2> /dev/null
    sleep 1
done
wait $numafit; echo $?
numafit machine show > $OUT/show; echo $?
ls /var/lib/numafit > $OUT/files
"""
COMMAND = """
numafit measure --rounds 1 --cpus 1 --node 1 -o json -- python3 -IS look.py > $OUT/answer; echo $?
cp seen $OUT/
"""
DIFFERENT = """
numafit measure --rounds 5 --cpus 1 --node 1 -o json -- sh slow.sh > $OUT/different; echo $?
"""
STOPPED = """
python3 -IS stop.py > $OUT/machine; echo $?
# The sixth run interrupts numafit, which started it, and would go on for long.
script='echo >> runs; if test $(wc -l < runs) = 6; then kill -INT $PPID; sleep 1000; fi'
python3 -IS heed.py numafit measure --rounds 100 -o json -- sh -c "$script" > $OUT/command; echo $?
ps -C sleep > $OUT/left; echo $?
"""
HELD = """. ./steps.sh
numafit run -q --cpus 2 -- sh -c 'touch held; exec sleep 1000' &
until_true test -e held
numafit measure --size 4Mi --rounds 1 -o json > $OUT/measured; echo $?
numafit run -q --cpus 1 -- numafit measure --size 4Mi --rounds 1 -o json > $OUT/inside; echo $?
"""
ONE_NODE = """
cd /sys/fs/cgroup && mkdir one && echo 0 > one/cpuset.mems && echo 0-1 > one/cpuset.cpus && cd - > /dev/null
echo $$ > /sys/fs/cgroup/one/cgroup.procs
numafit measure --size 4Mi --rounds 1; echo $?
numafit measure -- touch run; echo $?
test -e run; echo $?
echo $$ > /sys/fs/cgroup/cgroup.procs
"""


@pytest.fixture(scope="module")
def booted(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Result]:
    jobs = {
        "machine": MACHINE,
        "command": COMMAND,
        "different": DIFFERENT,
        "stopped": STOPPED,
        "held": HELD,
        "one-node": ONE_NODE,
    }
    made = [Job(name, script, FILES, timeout=SECONDS) for name, script in jobs.items()]
    return run_jobs(SHAPE, made, tmp_path_factory.mktemp("measure"))


def found(result: Result, name: str) -> str:
    return (result.folder / name).read_text()


def record(result: Result, name: str) -> Any:
    return json.loads(found(result, name))


def test_each_pair_of_nodes_has_its_figures(booted: dict[str, Result]) -> None:
    """CPUs of two nodes, memory of three: one of them has no CPUs."""
    result = booted["machine"]
    assert result.stdout.split() == ["0"] * 2, result.stdout
    measured = record(result, "measured")
    pairs = {(pair["node"], pair["memory"]): pair for pair in measured["pairs"]}
    assert sorted(pairs) == [(node, memory) for node in (0, 1) for memory in (0, 1, 2)]
    for pair in pairs.values():
        for figure in (pair["bytesPerSecond"], pair["nanoseconds"]):
            assert figure["rounds"] == 2
            assert 0 < figure["low"] <= figure["middle"] <= figure["high"]
    assert [(node["id"], node["cpus"], node["bytes"], node["proof"]) for node in measured["nodes"]] == [
        (0, "0-1", 8 << 20, "move_pages"),
        (1, "2-3", 8 << 20, "move_pages"),
        (2, "", 8 << 20, "move_pages"),
    ]
    assert (measured["whole"], measured["comparable"]) == (True, True)
    lost = [note for note in measured["notes"] if "nothing was measured" in note]
    assert len(measured["cpus"]) + len(lost) == 6


def test_the_memory_lies_where_it_is_said_to_lie(booted: dict[str, Result]) -> None:
    """By numa_maps, read from outside while it measures: each mapping that prefers a node is on that node only."""
    seen: Counter[int] = Counter()
    for line in found(booted["machine"], "maps").splitlines():
        node = re.search(r" prefer(?:=\w+)?:(\d+) ", line)
        nodes = re.findall(r" N(\d+)=\d+", line)
        if node is not None and nodes:
            assert nodes == [node[1]], line
            seen[int(node[1])] += 1
    assert mask_of(seen) == 0b111


def test_what_was_measured_is_kept_and_shown_with_the_machine(booted: dict[str, Result]) -> None:
    """One file beside the ledger, named for the machine."""
    result = booted["machine"]
    measured = record(result, "measured")
    assert f"measured-{measured['machine']}.json" in found(result, "files").split()
    shown = found(result, "show")
    assert f"measured {measured['at']}" in shown
    assert "CPUs of node 1" in shown


def test_a_command_is_run_as_it_is_and_bound_in_two_ways(booted: dict[str, Result]) -> None:
    """By its own /proc: once to warm up, then in turns; memory of the node of its CPUs, and of the one that the
    survey before it found to be the slowest."""
    result = booted["command"]
    assert result.stdout.split() == ["0"], result.stdout
    seen = [line.split(maxsplit=3) for line in found(result, "seen").splitlines()]
    places = [(cpus, policy, tuple(re.findall(r" N(\d+)=\d+", rest))) for cpus, _, policy, rest in seen]
    free = [cpus for cpus, policy, _ in places if policy == "default"]
    pairs = record(booted["machine"], "measured")["pairs"]
    times = {pair["memory"]: pair["nanoseconds"]["middle"] for pair in pairs if pair["node"] == 1}
    slowest = max((0, 2), key=lambda memory: times[memory])
    near, far = ("2", "prefer:1", ("1",)), ("2", f"prefer:{slowest}", (str(slowest),))
    assert free == ["0-3"] * 2
    assert [place for place in places if place[1] != "default"] == [near, far]
    answer = record(result, "answer")
    assert (answer["cpus"], answer["near"], answer["far"]) == ("2", 1, slowest)
    assert answer["farBy"] == "slowest as measured"
    assert [gain["moreThanNoise"] for gain in answer["gains"]] == [None, None]


def test_a_difference_that_is_there_is_more_than_noise(booted: dict[str, Result]) -> None:
    """A command that looks where its memory is preferred from, and sleeps where that is not the node of its CPUs: bound
    well it is quicker in each of five rounds, which noise alone does two times in 252."""
    result = booted["different"]
    assert result.stdout.split() == ["0"], result.stdout
    answer = record(result, "different")
    assert [len(times) for times in answer["seconds"].values()] == [5] * 3
    verdicts = [(gain["slow"], gain["quick"], gain["moreThanNoise"], gain["low"] > 1) for gain in answer["gains"]]
    assert sorted(verdicts) == [("as it is", "bound well", True, True), ("bound badly", "bound well", True, True)]


def test_ctrl_c_gives_what_was_measured(booted: dict[str, Result]) -> None:
    """Status 130, and the command that ran is gone."""
    result = booted["stopped"]
    assert result.stdout.split() == ["130", "130", "1"], result.stdout
    machine, command = record(result, "machine"), record(result, "command")
    assert (machine["whole"], bool(machine["pairs"])) == (False, True)
    # The first run does not count, and the sixth did not end.
    assert [len(times) for times in command["seconds"].values()] == [1, 2, 1]
    assert command["whole"] is False


def test_cpus_of_others_are_left_alone(booted: dict[str, Result]) -> None:
    """What a lease holds takes no part; inside a lease its own CPUs do."""
    result = booted["held"]
    assert result.stdout.split() == ["0", "0"], result.stdout
    measured, inside = record(result, "measured"), record(result, "inside")
    assert [node["cpus"] for node in measured["nodes"]] == ["", "2-3", ""]
    assert "CPUs 0-1 took no part: leases hold them" in measured["notes"]
    assert "".join(node["cpus"] for node in inside["nodes"]) in ("2", "3")


def test_on_one_node_nothing_is_compared(booted: dict[str, Result]) -> None:
    """The one bandwidth is shown, and a command is not run at all."""
    text = booted["one-node"].stdout
    assert "read bandwidth" in text
    assert "CPUs of one NUMA node and memory of one: there is nothing to compare\n" in text
    assert "one NUMA node has memory: there is nothing to compare, and touch was not run\n" in text
    assert text.split()[-3:] == ["run", "0", "1"]
