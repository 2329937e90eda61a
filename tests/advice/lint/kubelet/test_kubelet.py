"""Lint of kubelet configurations and flags."""

import gzip
import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.advice.inspection.places import Position
from tests.advice.lint.lint_files import GOOD, HEAD, codes, findings, one
from tests.decision.strategies import GI, box

ORACLE = Path(__file__).resolve().parents[4].parent / "shared" / "oracle"
BOX = box(2, 8, 2, memory=16 * GI)


def test_a_configuration_that_is_as_it_should_be_has_no_findings() -> None:
    assert findings(GOOD) == ()
    assert findings(GOOD, machine=BOX) == ()


def test_reserved_memory_that_does_not_add_up_is_spelled_out() -> None:
    """The kubelet's words, both sums, and how much is missing (memory manager, 1.21 to 1.36)."""
    text = HEAD + (
        'cpuManagerPolicy: static\nmemoryManagerPolicy: Static\nreservedSystemCPUs: "0-3"\n'
        "topologyManagerPolicy: restricted\nkubeReserved: {memory: 2Gi}\nsystemReserved: {memory: 2Gi}\n"
        "reservedMemory:\n- {numaNode: 0, limits: {memory: 2Gi}}\n- {numaNode: 1, limits: {memory: 2Gi}}\n"
    )
    found = one("NF110", text)
    assert found.message == (
        'the kubelet would not start: "the total amount "4Gi" of type "memory" is not equal to the value "4196Mi" '
        'determined by Node Allocatable feature"; reservedMemory has 2Gi + 2Gi = 4Gi, but kubeReserved 2Gi + '
        "systemReserved 2Gi + evictionHard memory.available 100Mi = 4196Mi"
    )
    assert found.cure == (
        "add 100Mi to reservedMemory, or take 100Mi of memory from kubeReserved, systemReserved or evictionHard"
    )
    assert found.place == Position("file0", 10, 1)


def test_a_share_of_memory_is_left_alone_without_a_machine() -> None:
    """5% of an unknown capacity adds up to nothing that could be compared."""
    text = GOOD.replace("924Mi", "1Gi") + "evictionHard: {memory.available: 5%}\nmergeDefaultEvictionSettings: true\n"
    assert codes(text) == []
    assert codes(text, machine=BOX) == ["NF110"]


def test_the_static_policy_needs_a_reservation() -> None:
    """cpumanager.NewManager, all releases."""
    found = one("NF111", HEAD + "cpuManagerPolicy: static\n")
    assert "[cpumanager] unable to determine reserved CPU resources for static policy" in found.message
    assert (found.place.line, found.place.column) == (3, 19)


def test_every_refusal_is_listed_where_the_kubelet_stops_at_the_first() -> None:
    """Both options lack a gate, and memory does not add up (1.27)."""
    text = GOOD.replace("924Mi", "1Gi") + (
        'cpuManagerPolicyOptions: {distribute-cpus-across-numa: "true"}\n'
        'topologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true"}\n'
        "featureGates: {TopologyManagerPolicyOptions: true}\n"
    )
    found = findings(text, version="1.27.3")
    assert [each.cure for each in found if each.code == "NF112"] == [
        "set the feature gate CPUManagerPolicyAlphaOptions to true, or remove the option",
        "set the feature gate TopologyManagerPolicyAlphaOptions to true, or remove the option",
    ]
    assert [each.code for each in found if each.code == "NF110"] == ["NF110"]


def test_an_option_of_a_later_release_says_since_when_it_exists() -> None:
    text = GOOD + 'cpuManagerPolicyOptions: {strict-cpu-reservation: "true"}\n'
    assert codes(text) == []
    found = one("NF112", text, version="1.27")
    assert found.cure == "strict-cpu-reservation exists since 1.32: remove it, or upgrade the kubelet"


def test_too_small_a_limit_of_numa_nodes_is_a_bad_value() -> None:
    """max-allowable-numa-nodes takes 8 or more (1.31 and later)."""
    found = one("NF112", GOOD + 'topologyManagerPolicyOptions: {max-allowable-numa-nodes: "4"}\n')
    assert (found.place.line, found.cure) == (8, "write a number of 8 or more")


def test_a_limit_of_numa_nodes_that_is_no_number_is_a_bad_value() -> None:
    found = one("NF112", GOOD + "topologyManagerPolicyOptions: {max-allowable-numa-nodes: many}\n")
    assert (found.place.line, found.place.column, found.cure) == (8, 58, "write a number of 8 or more")


def test_an_unknown_enforcement_is_no_policy_option() -> None:
    """The kubelet calls both an option."""
    found = one("NF103", GOOD + "enforceNodeAllocatable: [some]\n")
    cure = "name pods, kube-reserved, system-reserved or none"
    assert (found.place.line, found.place.column, found.cure) == (8, 25, cure)


@pytest.mark.parametrize("version", ["1.26", "1.27"])
def test_what_cannot_be_reserved_is_found_in_the_words_of_any_release(version: str) -> None:
    """From 1.27 on the kubelet says whose reservation it is."""
    found = one("NF103", GOOD + 'systemReserved: {rain: "1"}\n', version=version)
    assert (found.place.line, found.place.column) == (8, 24)


def test_options_that_exclude_each_other_are_refused() -> None:
    """The pairs that the static policy checks (1.36)."""
    options = '{full-pcpus-only: "true", distribute-cpus-across-cores: "true"}'
    text = GOOD + f"cpuManagerPolicyOptions: {options}\nfeatureGates: {{CPUManagerPolicyAlphaOptions: true}}\n"
    assert "can not be used at the same time" in one("NF113", text).message


@pytest.mark.parametrize(
    ("field", "written", "right"),
    [
        ("cpuManagerPolicy", "Static", "static"),
        ("memoryManagerPolicy", "static", "Static"),
        ("topologyManagerPolicy", "Single_Numa_Node", "single-numa-node"),
        ("topologyManagerScope", "Pod", "pod"),
    ],
)
def test_the_case_of_a_policy_name_matters(field: str, written: str, right: str) -> None:
    found = one("NF105", HEAD + f'reservedSystemCPUs: "0"\n{field}: "{written}"\n')
    assert found.edit is not None
    assert (found.edit.place.column, found.edit.old, found.edit.new) == (len(field) + 4, written, right)
    assert f'"{written}"' in found.message


def test_an_unquoted_option_hides_nothing_behind_it() -> None:
    """The decoder refuses the bare `true`; the missing reservation is found all the same."""
    text = HEAD + "cpuManagerPolicy: static\ncpuManagerPolicyOptions:\n  full-pcpus-only: true\n"
    found = {each.code: each for each in findings(text)}
    assert sorted(found) == ["NF106", "NF111"]
    assert found["NF106"].place == Position("file0", 5, 20)
    assert "cannot unmarshal bool into Go struct field" in found["NF106"].message


def test_a_number_whose_text_would_mean_something_else_is_not_offered_quotes() -> None:
    """`010` is 8 in YAML, and "010" is ten."""
    found = findings(HEAD + "kubeReserved: {cpu: 010}\n")
    assert [(each.code, each.edit) for each in found] == [("NF101", None)]


def test_an_unknown_field_is_ignored_by_the_kubelet_and_reported() -> None:
    found = one("NF201", GOOD + "cpuManagerPolicyOption: {}\n")
    assert (found.severity, found.place.line, found.place.column) == ("warning", 8, 1)


def test_a_partial_eviction_map_drops_the_defaults() -> None:
    """A map in the file replaces all of them; imagefs.inodesFree is one since 1.30."""
    text = HEAD + "evictionHard: {memory.available: 100Mi, nodefs.available: 10%, imagefs.available: 15%}\n"
    assert "nodefs.inodesFree 5% no longer applies" in one("NF202", text, version="1.27").message
    assert "nodefs.inodesFree 5%, imagefs.inodesFree 5%" in one("NF202", text).message
    assert codes(text + "mergeDefaultEvictionSettings: true\n") == []


def test_reserved_cpus_that_split_cores_strand_their_siblings() -> None:
    """full-pcpus-only hands out whole cores only; CPUs 0 and 8 are one core of this machine."""
    text = (
        GOOD.replace('cpu: "1", ', "") + 'cpuManagerPolicyOptions: {full-pcpus-only: "true"}\nreservedSystemCPUs: "0"\n'
    )
    siblings = one("NF203", text, machine=BOX).cure
    assert codes(text.replace('CPUs: "0"', f"CPUs: {siblings.removeprefix('reserve ')}"), machine=BOX) == []


def test_reservations_are_held_against_the_machine() -> None:
    """Each text is the engine's: CPUs that are not online, memory beyond the capacity, a node that is not there."""
    assert codes(HEAD + 'reservedSystemCPUs: "0-99"\n', machine=BOX) == ["NF114"]
    assert codes(HEAD + "kubeReserved: {memory: 99Gi}\n", machine=BOX) == ["NF114"]
    assert codes(GOOD.replace("numaNode: 0", "numaNode: 7"), machine=BOX) == ["NF114"]
    small = replace(BOX, numa_nodes=tuple(replace(node, memory=GI // 2) for node in BOX.numa_nodes))
    assert "NF209" in codes(GOOD, machine=small)


def test_settings_that_defeat_each_other_are_named() -> None:
    spread = 'cpuManagerPolicyOptions: {distribute-cpus-across-numa: "true"}\n'
    assert codes(GOOD + spread) == ["NF204"]
    assert codes(GOOD.replace("restricted", "best-effort") + spread) == []
    closest = 'topologyManagerPolicyOptions: {prefer-closest-numa-nodes: "true"}\n'
    assert codes(GOOD + closest) == []
    assert codes(GOOD.replace("restricted", "single-numa-node") + closest) == ["NF205"]
    assert codes(HEAD + closest) == ["NF205"]
    assert codes(HEAD + "topologyManagerPolicy: restricted\n") == ["NF207"]


def test_a_list_of_reserved_cpus_replaces_the_amounts() -> None:
    """kubeReserved.cpu is dropped and systemReserved.cpu becomes the number of CPUs listed (all releases)."""
    assert codes(GOOD + 'reservedSystemCPUs: "0-1"\n') == ["NF206"]
    assert codes(GOOD.replace('cpu: "1"', "cpu: 200m")) == ["NF210"]


def test_flags_override_the_file_beside_them() -> None:
    """The flag brings the reservation that the file lacks; the place of a flag is its line and column."""
    file = GOOD.replace('cpu: "1", ', "")
    assert codes(file) == ["NF111"]
    assert codes(file, 'KUBELET_ARGS="--reserved-cpus=0"\n') == []
    found = one("NF105", file, '# flags\nARGS="--v=2 --reserved-cpus=0 --cpu-manager-policy=Static"\n')
    assert found.place == Position("file1", 2, 31)
    assert found.edit is not None
    assert (found.edit.place.column, found.edit.new) == (52, "static")


def test_flags_that_a_release_has_not_are_all_listed() -> None:
    env = 'ARGS="--network-plugin=cni --cni-bin-dir /opt/cni --v=2"\n'
    found = findings(env)
    assert [(each.code, each.place.column) for each in found] == [("NF104", 7), ("NF104", 28)]
    assert '"unknown flag: --network-plugin"' in found[0].message
    assert findings(env, version="1.23") == ()


def test_flags_alone_do_not_pretend_to_know_the_file_they_name() -> None:
    """With --config the reservation may stand there; a wrong policy name in a flag stays wrong."""
    assert codes('ARGS="--config=/etc/k.yaml --cpu-manager-policy=static"\n') == ["NF003"]
    assert codes('ARGS="--config=/etc/k.yaml --cpu-manager-policy=Static"\n') == ["NF003", "NF105"]
    assert codes('ARGS="--config=/etc/k.yaml --eviction-hard="\n') == ["NF003", "NF202"]


def test_a_fragment_without_a_kind_is_refused_and_still_looked_at() -> None:
    assert codes("cpuManagerPolicy: static\n") == ["NF101", "NF111"]


def test_a_configuration_inside_a_configmap_keeps_its_places() -> None:
    """As kubeadm stores it; lines count in the outer file."""
    inner = "".join(
        f"    {line}\n" for line in (HEAD + "cpuManagerPolicy: Static\nreservedSystemCPUs: '0'").split("\n")
    )
    found = one("NF105", f"apiVersion: v1\nkind: ConfigMap\ndata:\n  kubelet: |\n{inner}")
    assert found.place == Position("file0", 7, 23)
    assert found.edit is not None
    assert found.edit.place == found.place


def test_every_recorded_refusal_is_quoted() -> None:
    """The texts of kubelet 1.27 to 1.36 for bad configurations, each in the message of a finding."""
    paths = sorted(ORACLE.glob("*/validation.jsonl.gz"))
    if not paths:
        pytest.skip("the recordings are not there")
    quoted = 0
    for path in paths:
        for line in gzip.decompress(path.read_bytes()).splitlines():
            case = json.loads(line)
            refusals = case["expect"].get("errors", ())
            if case["input"]["kind"] != "config" or not refusals:
                continue
            found = findings(json.dumps(case["input"]["spec"]), version=case["kubeVersion"])
            for refusal in refusals:
                assert any(refusal in each.message for each in found), case["id"]
                quoted += 1
    assert quoted
