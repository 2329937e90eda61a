"""Lint as a whole: what it recognises, the order of its findings, its fixes, and that nothing makes it crash."""

from hypothesis import given
from hypothesis import strategies as st

from numafit.advice.lint.findings import CODES, Edit, Position, edited
from numafit.advice.lint.lint import LintFile, lint
from numafit.settings.versions import parse_version
from tests.advice.lint.lint_files import GOOD, HEAD, codes, container, findings, one, pod
from tests.decision.strategies import GI, box

VERSION = parse_version("1.36")
WRONG = HEAD + (
    "cpuManagerPolicy: Static # wrong\nmemoryManagerPolicy: 'NONE'\n"
    "cpuManagerPolicyOptions:\n  full-pcpus-only: yes\nkubeReserved: {cpu: 2, memory: 1Gi}\n"
)


def test_what_lint_does_not_know_is_said_only_of_files_that_were_named() -> None:
    text = "answer: 42\n"
    assert codes(text) == ["NF002"]
    assert findings(text, named=False) == ()


def test_kinds_without_pods_are_passed_over() -> None:
    assert codes("apiVersion: v1\nkind: Service\nmetadata: {name: s}\n") == []
    assert codes("apiVersion: example.com/v1\nkind: Gizmo\nspec: {}\n---\n" + pod([container()])) == []


def test_a_broken_file_has_its_place_and_does_not_keep_others_from_being_read() -> None:
    found = findings("a: [1\n", "cpuManagerPolicy: static\n")
    assert [(each.code, each.place.source) for each in found] == [
        ("NF001", "file0"),
        ("NF101", "file1"),
        ("NF111", "file1"),
    ]


def test_findings_come_by_file_and_then_by_place() -> None:
    found = findings(WRONG, pod([container(limits={"cpu": "2500m", "memory": "1Gi"})]))
    places = [(each.place.source, each.place.line, each.place.column) for each in found]
    assert places == sorted(places)


def test_each_severity_is_counted() -> None:
    """Also one of which nothing was found."""
    report = lint([LintFile("k", WRONG.encode()), LintFile("p", b"answer: 42\n")], VERSION)
    assert list(report.counts) == ["error", "warning", "info"]
    assert sum(report.counts.values()) == len(report.findings)
    assert report.counts["info"] == 0


def test_the_items_of_a_list_are_looked_at_one_by_one() -> None:
    item = pod([container(limits={"cpu": "1500m", "memory": "1Gi"})])
    assert codes(f'{{"apiVersion": "v1", "kind": "List", "items": [{item}, {item}]}}') == ["NF312", "NF312"]


def test_fixes_change_nothing_but_the_wrong_words() -> None:
    """Case of names and missing quotes; comments and quotes that were there stay."""
    report = lint([LintFile("k", WRONG.encode())], VERSION)
    assert report.fixed["k"].splitlines()[2:] == [
        "cpuManagerPolicy: static # wrong",
        "memoryManagerPolicy: 'None'",
        "cpuManagerPolicyOptions:",
        '  full-pcpus-only: "true"',
        'kubeReserved: {cpu: "2", memory: 1Gi}',
    ]
    assert lint([LintFile("k", report.fixed["k"].encode())], VERSION).fixed == {}


def test_a_fixed_flag_stays_where_it_is() -> None:
    env = "A=x\nARGS='--reserved-cpus=0 --cpu-manager-policy=STATIC'\n"
    assert lint([LintFile("e", env.encode())], VERSION).fixed == {"e": env.replace("STATIC", "static")}


def test_an_edit_whose_old_text_is_not_there_is_left_out() -> None:
    edits = [
        Edit(Position("f", 1, 1), "a", "b"),
        Edit(Position("f", 1, 3), "x", "y"),
        Edit(Position("f", 9, 1), "a", "b"),
    ]
    assert edited("a a\n", edits) == "b a\n"


def test_a_release_without_an_option_is_no_place_for_its_quotes() -> None:
    """1.20 ignores the field as a whole."""
    text = HEAD + "cpuManagerPolicyOptions: {full-pcpus-only: true}\n"
    assert codes(text, version="1.20") == ["NF201"]
    assert one("NF106", text, version="1.23").edit is not None


@given(st.binary(max_size=200))
def test_no_bytes_make_it_crash(data: bytes) -> None:
    lint([LintFile("f", data)], VERSION)


PIECES = (
    *GOOD.splitlines(),
    *WRONG.splitlines(),
    "- a",
    "A='--v=2 --cpu-manager-policy=x",
    "spec:",
    "  containers: [{}]",
)


@given(st.lists(st.sampled_from(PIECES) | st.text(max_size=12), max_size=12), st.booleans())
def test_no_mixture_of_lines_makes_it_crash(lines: list[str], with_machine: bool) -> None:
    """And each finding lies in the file, with a known code."""
    data = "\n".join(lines).encode("utf-8", "surrogatepass")
    report = lint([LintFile("f", data)], VERSION, box(2, 4, 2, memory=GI) if with_machine else None)
    for each in report.findings:
        assert each.code in CODES
        assert each.place.line >= 1
        assert each.place.column >= 1
