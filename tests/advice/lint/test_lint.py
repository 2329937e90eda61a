"""Lint as a whole: what it recognises, the order of its findings, its fixes, and that nothing makes it crash."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.advice.inspection.places import Position
from numafit.advice.lint.findings import CODES, Edit, edited
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
    """Or of all of them, if there is nothing else."""
    text = "answer: 42\n"
    assert codes(text) == ["NF002"]
    assert findings(text, GOOD, named=False) == ()
    assert [each.code for each in findings(text, named=False)] == ["NF002"]


SERVICE = "apiVersion: v1\nkind: Service\nmetadata: {name: s}\n"


def test_kinds_without_pods_are_passed_over_but_not_as_clean() -> None:
    assert codes(SERVICE) == ["NF004"]
    assert findings(SERVICE, GOOD, named=False) == ()
    assert codes("apiVersion: example.com/v1\nkind: Gizmo\nspec: {}\n---\n" + pod([container()])) == []


def test_what_was_left_out_is_noted() -> None:
    data = f"{SERVICE}---\n{pod([container()])}\n---\n{SERVICE}---\n- 1\n".encode()
    report = lint([LintFile("f", data)], VERSION)
    [note] = report.notes
    assert (note.code, note.about) == ("kind-skipped", "f")
    assert note.text.startswith("not looked at: kind Service (line 1, ")
    assert "a list, where objects are expected (line " in note.text


UNKNOWN = {
    "empty": (b"", "NF002", "the file is empty", "lint reads"),
    "comments": (b"# nothing\n", "NF002", "there are only comments", "lint reads"),
    "template": (b"kind: Pod\nspec: {{ .Values.spec }}\n", "NF001", "", "helm template"),
    "values of a template": (b'a: "{{ .Values.spec }}"\n', "NF002", "a mapping that is no", "helm template"),
    "chart": (b"apiVersion: v2\nname: x\nversion: 1.0.0\n", "NF002", "a mapping that is no", "helm template"),
    "kinds without pods": (SERVICE.encode(), "NF004", "kind Service has no pods", ""),
    "array": (b'[{"kind": "Pod"}]', "NF002", "a list, where objects are expected", "lint reads"),
    "kustomization": (
        b"apiVersion: kustomize.config.k8s.io/v1beta1\nkind: Kustomization\n",
        "NF002",
        "a Kustomization has no pods of its own",
        "kubectl kustomize",
    ),
    "binary": (b"\x7fELF\xff\x00", "NF001", "is not UTF-8 text", "this is no text; lint reads"),
    "machine": (b"format: 1\nnumaNodes: []\n", "NF002", "a mapping that is no", "--machine"),
    "numactl": (b"available: 1 nodes (0)\nnode 0 cpus: 0 1\n", "NF002", "", "--machine"),
    "log": (b'I0102 10:11:12.123456    1 scope.go:75] "TopologyHints" pod="a/b"\n', "NF00", "", "explain --log"),
    "variables": (b"LEVEL=2\n", "NF002", "no variable of this file begins with a flag", "lint reads"),
}


@pytest.mark.parametrize("name", UNKNOWN)
def test_a_file_that_nothing_is_understood_of_is_never_clean(name: str) -> None:
    data, code, message, cure = UNKNOWN[name]
    report = lint([LintFile("f", data)], VERSION)
    assert report.files == 0
    assert report.failed
    assert report.notes == ()
    (found,) = report.findings
    assert found.code.startswith(code)
    assert message in found.message
    assert cure in found.cure


def test_of_two_configurations_in_one_file_the_kubelet_reads_the_first() -> None:
    """Go's YAML reader takes the first document. What is wrong in the second is told all the same."""
    second = HEAD + "maxPods: many\n"
    found = findings(GOOD + "---\n" + second)
    assert [(each.code, each.place.line) for each in found] == [("NF205", 9), ("NF101", 11)]
    assert "the first document of its file only" in found[0].message


def test_drop_in_files_lie_over_the_configuration_beside_them() -> None:
    """1.32 and later; the mistake of one does not hide that of the other."""
    sources = [
        LintFile("kubelet.yaml", (GOOD + "maxPods: -1\n").encode()),
        LintFile("10.conf", (HEAD + "memoryManagerPolicy: Most\n").encode()),
        LintFile("20.conf", b"podsPerCore: -1\n"),
    ]
    found = lint(sources, VERSION).findings
    assert [(each.place.source, each.code, each.place.line) for each in found] == [
        ("kubelet.yaml", "NF103", 8),
        ("10.conf", "NF105", 3),
        ("20.conf", "NF101", 1),
        ("20.conf", "NF103", 1),
    ]


def test_files_of_a_release_without_drop_ins_are_judged_each_by_itself() -> None:
    """Up to 1.27 there is no `--config-dir`: what ends in .conf is a configuration like any other."""
    sources = [
        LintFile("kubelet.yaml", GOOD.encode()),
        LintFile("10.conf", (HEAD + "topologyManagerPolicy: strict\n").encode()),
    ]
    report = lint(sources, parse_version("1.27"))
    assert [(each.place.source, each.code) for each in report.findings] == [("10.conf", "NF105")]
    assert "drop-ins" not in {each.check for each in report.unchecked}


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


def test_what_a_running_kubelet_answers_is_linted_with_its_own_places() -> None:
    """/configz has no kind; a field that the release does not know is found where it stands."""
    text = b'{"kubeletconfig": {\n "maxPods": 110,\n "singleProcessOOMKill": true}}'
    report = lint([LintFile("configz.json", text)], parse_version("1.28"))
    unknown = [each.place for each in report.findings if each.code == "NF201"]
    assert unknown == [Position("configz.json", 3, 2)]


_ASKS = "spec: {containers: [{name: main, image: i, resources: {limits: {cpu: 2500m, memory: 1Gi}}}]}"
_JOBS = f"""apiVersion: kubeflow.org/v1
kind: PyTorchJob
metadata: {{name: job}}
spec:
  pytorchReplicaSpecs:
    Master:
      template:
        {_ASKS}
    Worker:
      template:
        {_ASKS}
---
apiVersion: example.com/v1
kind: Gizmo
metadata: {{name: gizmo}}
spec:
  inner:
    template:
      {_ASKS}
"""


def test_every_pod_template_of_a_kind_of_others_is_looked_at() -> None:
    """Also in a kind that is not known: `simulate` finds the pods of these files, and so does lint."""
    found = findings(GOOD, _JOBS)
    assert [(each.code, each.place.line) for each in found] == [("NF312", 8), ("NF312", 11), ("NF312", 19)]


def test_a_mistake_in_one_template_of_an_object_hides_nothing_in_the_next() -> None:
    found = findings(GOOD, _JOBS.replace("2500m", "lots", 1))
    assert [(each.code, each.place.line) for each in found] == [("NF301", 8), ("NF312", 11), ("NF312", 19)]
