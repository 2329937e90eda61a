"""The one sentence that matters, from a log."""

import io
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.logs.admission import Admission, LoggedMerge
from numafit.advice.logs.kubelet import LoggedKubelet
from numafit.advice.logs.report import LogReport, read_log
from numafit.advice.logs.story import LogStory, node_cpus, story_of_admission
from numafit.machine.model import Cpu, Machine, NumaNode
from tests.advice.logs.log_text import denied, go_hint, json_hint, json_map, klog, merge_lines, report_of

EXAMPLE = Path(__file__).resolve().parents[3] / "examples" / "small-node" / "recreate-loop.log"
SEEDS = Path(__file__).resolve().parents[3].parent / "shared" / "seeds"


def stories(report: LogReport) -> dict[str, LogStory]:
    return {
        kept.admission.pod: story_of_admission(kept.admission, report.kubelet_of(kept.admission))
        for kept in report.kept
    }


def seed(pattern: str) -> LogReport:
    found = sorted(SEEDS.glob(pattern))
    if not found:
        pytest.skip("the field cases are not there")
    with found[0].open("rb") as file:
        return read_log(file, lambda _: True)


def test_cpus_on_one_node_and_memory_on_the_other() -> None:
    """The second field case: two nodes, single-numa-node, 1.28 to 1.30; every recreation repeats it."""
    report = seed("002*")
    (story,) = stories(report).values()
    assert story.sentence == (
        "The CPUs fit no single node but node 1 and the memory fits no single node but node 0, so no node has room "
        "for both: `single-numa-node` rejects container vmstorage."
    )
    assert story.doubts == ()
    (loop,) = report.loops
    assert (loop.rejections, loop.recreations, loop.period) == (1, 2, 0.6)


def test_sixteen_cpus_and_a_gpu_in_1_20() -> None:
    """The first field case: best-effort calls the merge preferred, yet the CPUs reach over both nodes."""
    told = stories(seed("000*"))
    assert told["default/16cpu-numa-batch-pod"].sentence == (
        "Admitted with CPUs 1-13,17-19, merged to node 0. Not all CPUs lie there: they need nodes 0-1 together."
    )
    assert told["default/16cpu-2gpu-numa-kubebatch-pod"].sentence == (
        "Admitted with CPUs 1-5,17-27, merged to nodes 0-1. Container app is not as near as its managers prefer: "
        "the nvidia.com/gpu devices have no preferred place now, and fit nodes 0-1 together."
    )
    assert told["default/2gpu-numa-batch-pod"].sentence == "The log does not tell how this ended."
    assert [pod for pod, story in told.items() if story.doubts] == ["default/2gpu-numa-batch-pod"]


def test_sixteen_cpus_and_a_gpu_in_1_24() -> None:
    """The same hints in Go values: since 1.24 masks that differ are not preferred, and both nodes are taken."""
    gpu = "map[nvidia.com/gpu:[" + " ".join(go_hint(*hint) for hint in ((1, True), (2, True), (3, False))) + "]]"
    cpu = f"map[cpu:[{go_hint(3, True)}]]"
    lines = merge_lines("default/a", "app", [gpu, cpu, "map[]"], go_hint(3, False), stored=True)
    report = report_of([*lines, klog('"AllocateCPUs" result="1-13,17-19"')])
    (story,) = stories(report).values()
    assert story.sentence == (
        "Admitted with CPUs 1-13,17-19, merged to nodes 0-1. Container app is not as near as its managers prefer: "
        "the nvidia.com/gpu devices prefer one of nodes 0-1 and the CPUs prefer nodes 0-1, so no place is preferred by "
        "both (nodes 0-1 together would have room for both)."
    )
    assert story.doubts == ()
    kubelet = report.kubelets[7]
    assert (kubelet.policy, kubelet.first_minor, kubelet.last_minor) == ("best-effort", 21, 27)


def test_without_hints_nothing_is_guessed() -> None:
    (story,) = stories(report_of([denied("a/b", "u", "TopologyAffinityError")])).values()
    assert story.sentence == (
        "The topology manager rejects the pod; the log holds no hints of it, so it cannot be told why."
    )


def test_a_merge_that_the_engine_does_not_get_is_said() -> None:
    """From these hints no release and no policy gets node 1."""
    maps = [json_map("cpu", [(1, True)]), json_map("memory", [(1, True), (2, True)])]
    (story,) = stories(report_of(merge_lines("a/b", "c", maps, json_hint(2, True), stored=True))).values()
    assert story.doubts[0].startswith(
        "The merge of container c is not what numafit computes from these hints: the log has node 1, preferred, "
        "numafit gets node 0, preferred."
    )


def test_a_story_needs_no_policy() -> None:
    """Rejected with hints, but the merged hint is lost: restricted and single-numa-node are both possible."""
    maps = [json_map("cpu", [(1, True)]), json_map("memory", [(2, True)])]
    lines = [
        *merge_lines("a/b", "c", maps, json_hint(1, True), stored=False)[:2],
        denied("a/b", "u", "TopologyAffinityError"),
    ]
    report = report_of(lines)
    assert isinstance(report.kept[0].admission, Admission)
    (story,) = stories(report).values()
    assert story.sentence == (
        "The CPUs prefer node 0 and the memory prefers node 1, so no place is preferred by both: the topology manager "
        "rejects container c."
    )
    assert story.chapters[0].outcome == "what they merged to is not in this log"


@given(st.sets(st.integers(0, 18)), st.booleans())
def test_lost_lines_never_turn_a_rejection_into_an_admission(lost: set[int], cut: bool) -> None:
    """journald drops lines when a kubelet writes too many; what is left may tell less, but nothing else."""
    lines = EXAMPLE.read_bytes().splitlines()
    left = [
        line[: len(line) // 2] if cut and i in lost else line for i, line in enumerate(lines) if cut or i not in lost
    ]
    report = read_log(io.BytesIO(b"\n".join(left)), lambda _: True)
    assert report.admitted == 0
    assert report.rejected <= 2
    assert {kept.admission.pod for kept in report.kept} <= {"db/store-0"}


def test_a_merge_with_a_lost_hint_line_is_told_with_a_doubt() -> None:
    """Another merge of the same kubelet shows how many providers it has."""
    maps = [json_map("cpu", [(1, True)]), json_map("memory", [(2, True)])]
    whole = merge_lines("a/b", "c", ["{}", *maps], json_hint(None, False), stored=False)
    told = stories(report_of([*whole, *merge_lines("a/d", "c", maps, json_hint(None, False), stored=False)]))
    assert told["a/b"].doubts == ()
    assert told["a/d"].doubts == (
        "Hint lines of container c are missing from this log (2 of 3 are there): it may be otherwise.",
    )


def test_a_resource_that_two_providers_name_is_told_twice() -> None:
    """A log may repeat a line; the story repeats the clause and does not fail."""
    maps = [json_map("cpu", []), json_map("cpu", [(1, True)])]
    (story,) = stories(report_of(merge_lines("a/b", "c", maps, json_hint(None, False), stored=False))).values()
    assert story.sentence == "The CPUs cannot be given now: `single-numa-node` rejects container c."


def test_cpus_whose_numa_node_nobody_tells_lie_nowhere() -> None:
    """Of a machine without NUMA nodes, such as one of `lspci` text with CPUs beside it, what the log tells counts."""
    known = LoggedKubelet(cpus={0: 3})
    cpus = (Cpu(0, socket=0, numa=-1, core=0), Cpu(1, socket=0, numa=0, core=1))
    assert node_cpus(known, Machine(cpus=cpus)) == {0: 3}
    assert node_cpus(known, Machine(cpus=cpus, numa_nodes=(NumaNode(0, memory=1),))) == {0: 2}


@pytest.mark.parametrize(
    ("message", "sentence"),
    [
        (
            "requested 3 cpus not multiple cpus per core = 2",
            "ontainer second asks for 3 CPUs, and `full-pcpus-only` gives whole cores of 2 threads only: 2 or 4 would "
            "do.",
        ),
        (
            "not enough free physical CPUs: available physical CPUs = 2, requested CPUs = 4, CPUs per core = 2",
            "ontainer second asks for 4 CPUs, and with `full-pcpus-only` 2 are free: only cores without a reserved CPU "
            "count.",
        ),
    ],
)
def test_a_refusal_of_full_pcpus_only_names_the_container_and_its_number(message: str, sentence: str) -> None:
    """Of two containers the one whose merge came last; in the pod's scope the log does not tell which it is."""
    text = f"SMT Alignment Error: {message}"
    first, second, both = (LoggedMerge(name, (), None, None) for name in ("first", "second", ""))
    kubelet = LoggedKubelet()
    told = Admission(
        "default/a", "u", 1, 0, "", False, "SMTAlignmentError", text, False, (first, second), {}, {}, kubelet
    )
    assert story_of_admission(told, kubelet).sentence == f"C{sentence}"
    whole = replace(told, merges=(both,))
    unnamed = sentence.replace("ontainer second", "One of its containers")
    assert story_of_admission(whole, kubelet).sentence == unnamed
