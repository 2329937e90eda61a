"""The CPU manager's state file; the vectors come from kubelet tests and from files seen in the field."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.bits import cpuset_text, mask_of
from numafit.golang.spew import checksum
from numafit.ledger.files.checkpoint import RestoreError
from numafit.ledger.files.cpu import (
    CpuFile,
    LegacyCpuFile,
    RestoredCpu,
    cpu_bytes,
    cpu_dump,
    legacy_cpu_bytes,
    parse_cpu,
    parse_legacy_cpu,
    read_cpu,
)
from numafit.settings.versions import behaviour_of, parse_version

POD = "39b37746-7f5e-4064-b8e1-eebd2bfaa003"
STATIC = CpuFile("static", "0,4-27", {POD: {"app": "1-3"}})
STATIC_TEXT = (
    '{"policyName":"static","defaultCpuSet":"0,4-27","entries":{"39b37746-7f5e-4064-b8e1-eebd2bfaa003":{"app":"1-3"}},'
    '"checksum":3300516549}'
)


def read(
    text: str | bytes,
    version: str = "1.36",
    *,
    policy: str = "static",
    gate: bool = False,
    resize_gate: bool = False,
    containers: tuple[tuple[str, str, str], ...] = (),
) -> RestoredCpu:
    return read_cpu(
        text,
        policy=policy,
        behaviour=behaviour_of(parse_version(version)),
        gate=gate,
        resize_gate=resize_gate,
        containers=containers,
        state_dir="/var/lib/kubelet",
    )


def refusal(
    text: str | bytes, version: str = "1.36", *, policy: str = "static", gate: bool = False, resize_gate: bool = False
) -> str:
    """The cause inside the kubelet's sentence."""
    with pytest.raises(RestoreError) as caught:
        read(text, version, policy=policy, gate=gate, resize_gate=resize_gate)
    before, after = "could not restore state from checkpoint: ", ", please drain this node and delete the CPU manager"
    rest = ' checkpoint file "/var/lib/kubelet/cpu_manager_state" before restarting Kubelet'
    message = str(caught.value)
    assert message.startswith(before)
    assert message.endswith(after + rest)
    return message.removeprefix(before).removesuffix(after + rest)


def sealed(text: str, claimed: int) -> str:
    return json.dumps({**json.loads(text), "checksum": claimed})


def test_the_dump_of_an_empty_file_keeps_its_empty_places() -> None:
    expected = (
        "(*state.CPUManagerCheckpoint){PolicyName:(string)none DefaultCPUSet:(string) "
        "Entries:(map[string]map[string]string)map[] Checksum:(checksum.Checksum)0}"
    )
    assert cpu_dump(CpuFile("none"), "v2") == expected


@pytest.mark.parametrize(
    ("file", "text"),
    [
        (CpuFile("none"), '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'),
        (CpuFile("static", "0-27"), '{"policyName":"static","defaultCpuSet":"0-27","checksum":273146150}'),
        (CpuFile("none", "4-6"), '{"policyName":"none","defaultCpuSet":"4-6","checksum":354655845}'),
        (STATIC, STATIC_TEXT),
    ],
)
def test_v2_files_have_the_checksums_of_the_kubelet(file: CpuFile, text: str) -> None:
    """Written by 1.18 to 1.36."""
    assert cpu_bytes(file, "v2") == text


def test_a_v3_file_also_hashes_the_cpus_of_pods_one_by_one() -> None:
    """1.36 with PodLevelResourceManagers."""
    file = CpuFile("none", "1-3", {"pod": {"container1": "4-6", "container2": "1-3"}}, {"pod": "4-6"})
    assert "PodEntries:(state.PodCPUAssignments)map[pod:{CPUSet:(cpuset.CPUSet){elems:(map[int]struct {})" in cpu_dump(
        file, "v3"
    )
    assert cpu_bytes(file, "v3") == (
        '{"policyName":"none","defaultCpuSet":"1-3","entries":{"pod":{"container1":"4-6","container2":"1-3"}},'
        '"podEntries":{"pod":{"cpuSet":"4-6"}},"checksum":2649431787}'
    )


def test_a_v1_file_is_hashed_under_the_plain_type_name() -> None:
    """Kubelets before 1.18 wrote it so."""
    file = LegacyCpuFile("none", "1-3", {"containerID1": "4-6", "containerID2": "1-3"})
    assert json.loads(legacy_cpu_bytes(file))["checksum"] == 3680390589


@pytest.mark.parametrize("version", ["1.20", "1.35", "1.36"])
def test_a_good_file_is_restored(version: str) -> None:
    expected = RestoredCpu("static", mask_of([0, *range(4, 28)]), {POD: {"app": 0b1110}})
    assert read(STATIC_TEXT, version) == expected


@pytest.mark.parametrize("version", ["1.20", "1.36"])
def test_a_checksum_of_zero_or_none_is_accepted(version: str) -> None:
    without = json.dumps({"policyName": "static", "defaultCpuSet": "0-3", "entries": {"p": {"c": "1"}}})
    assert read(sealed(STATIC_TEXT, 0), version) == read(STATIC_TEXT, version)
    assert read(without, version) == RestoredCpu("static", 0b1111, {"p": {"c": 0b10}})


def test_only_the_contents_are_hashed() -> None:
    """White space, key order, case of field names and unknown fields do not matter."""
    text = json.dumps({"CHECKSUM": 3300516549, "other": [1], "entries": {POD: {"app": "1-3"}}}, indent=1)
    text = text[:-2] + ', "defaultCPUSet": "0,4-27", "policyName": "static"}'
    assert read(text) == read(STATIC_TEXT)


def test_null_entries_break_the_checksum_but_are_an_empty_map_without_one() -> None:
    assert refusal('{"policyName":"none","defaultCpuSet":"","entries":null,"checksum":1353318690}', policy="none") == (
        "checkpoint is corrupted"
    )
    assert read('{"policyName":"static","entries":null}') == RestoredCpu("static")


def test_a_bad_checksum_shows_the_error_of_the_last_attempt() -> None:
    """Up to 1.35 that is v2, since 1.36 v1, which cannot hold entries of pods."""
    bad = sealed(STATIC_TEXT, 5)
    assert refusal(bad, "1.35") == "checkpoint is corrupted"
    assert refusal(bad, "1.36") == (
        f"json: cannot unmarshal object into Go struct field CPUManagerCheckpointV1.entries.{POD} of type string"
    )
    assert refusal('{"policyName":"static","checksum":5}', "1.36") == "checkpoint is corrupted"
    legacy = '{"policyName":"static","entries":{"id":"1"},"checksum":5}'
    assert refusal(legacy, "1.35") == (
        "json: cannot unmarshal string into Go struct field CPUManagerCheckpoint.entries.id of type map[string]string"
    )


@pytest.mark.parametrize(
    ("version", "wrap"),
    [
        ("1.35", "error migrating v1 checkpoint state to v2 checkpoint state"),
        ("1.36", "failed to migrate checkpoint from v1 to v2"),
    ],
)
def test_a_v1_file_is_migrated_through_the_runtime_s_containers(version: str, wrap: str) -> None:
    text = legacy_cpu_bytes(LegacyCpuFile("static", "0-3", {"b": "5", "a": "4"}))
    known = (("pod", "app", "a"), ("pod", "log", "b"))
    expected = RestoredCpu("static", 0b1111, {"pod": {"app": 1 << 4, "log": 1 << 5}})
    assert read(text, version, containers=known) == expected
    assert refusal(text, version) == f"{wrap}: containerID 'a' not found in initial containers list"


def test_faults_after_the_checksum_are_named_in_order() -> None:
    """Policy, then default set, then entries."""
    assert refusal('{"policyName":"none","defaultCpuSet":"x"}') == (
        'configured policy "static" differs from state checkpoint policy "none"'
    )
    assert refusal('{"policyName":"static","defaultCpuSet":"0-x","entries":{"p":{"c":"y"}}}') == (
        'could not parse default cpu set "0-x": strconv.Atoi: parsing "x": invalid syntax'
    )
    assert refusal('{"policyName":"static","entries":{"p":{"c":"y"}}}') == (
        'could not parse cpuset "y" for container "c" in pod "p": strconv.Atoi: parsing "y": invalid syntax'
    )


@pytest.mark.parametrize(("version", "sign"), [("1.22", ">="), ("1.27", ">")])
def test_a_reversed_range_is_worded_by_version(version: str, sign: str) -> None:
    assert refusal('{"policyName":"static","defaultCpuSet":"3-1"}', version) == (
        f'could not parse default cpu set "3-1": invalid range "3-1" (3 {sign} 1)'
    )


def test_text_that_is_no_json_is_refused_in_go_s_words() -> None:
    assert refusal("") == "unexpected end of JSON input"
    assert refusal("hello") == "invalid character 'h' looking for beginning of value"


def test_a_v3_file_needs_the_gate() -> None:
    """1.36: its checksum covers the pod entries even when there are none. Older releases know no gate."""
    text = cpu_bytes(CpuFile("static", "0-3", {}, {"pod": "4-5"}), "v3")
    assert read(text, gate=True) == RestoredCpu("static", 0b1111, {}, {"pod": 0b110000})
    assert refusal(text, gate=False) == "checkpoint is corrupted"
    assert refusal(text, "1.35", gate=True) == "checkpoint is corrupted"
    assert refusal(cpu_bytes(CpuFile("static", "0-3"), "v3")) == "checkpoint is corrupted"


def test_with_the_gate_a_v3_file_without_checksum_is_read_as_v2_and_keeps_its_pods() -> None:
    """1.36 fills the value of the failed v3 attempt from v2, which leaves the pod entries in it."""
    text = '{"policyName":"static","defaultCpuSet":"0-3","podEntries":{"pod":{"cpuSet":"4-5"}},"checksum":0}'
    assert read(text, gate=True) == RestoredCpu("static", 0b1111, {}, {"pod": 0b110000})
    assert read(text, gate=False) == RestoredCpu("static", 0b1111)


def test_a_v2_checksum_under_its_own_type_name_is_good_only_without_the_gate() -> None:
    """1.36 checks both names then."""
    text = '{"policyName":"static","defaultCpuSet":"0-3","checksum":1}'
    own = checksum(cpu_dump(CpuFile("static", "0-3"), "v2").replace("Checkpoint)", "CheckpointV2)", 1))
    assert read(sealed(text, own)) == RestoredCpu("static", 0b1111)
    assert refusal(sealed(text, own), gate=True) == "checkpoint is corrupted"
    assert refusal(sealed(text, own), "1.35") == "checkpoint is corrupted"


MANAGED = CpuFile("static", "0,4-27", {POD: {"app": "1-3"}}, {POD: "1-3"}, {POD: {"app": "1-3"}})


def with_data(data: str, text: str = STATIC_TEXT) -> str:
    """The file with other `data`, and the checksum that goes with it."""
    return json.dumps({**json.loads(text), "data": data, "dataChecksum": checksum(f"(string){data}")})


def test_v4_files_are_those_of_the_kubelet() -> None:
    """1.37: the v2 file, then all contents as a text; the second with both gates, which only `data` shows."""
    assert cpu_bytes(STATIC, "v4") == STATIC_TEXT[:-1] + (
        r',"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0,4-27\",\"entries\":{'
        r'\"39b37746-7f5e-4064-b8e1-eebd2bfaa003\":{\"app\":\"1-3\"}}}","dataChecksum":4067041728}'
    )
    assert cpu_bytes(MANAGED, "v4") == STATIC_TEXT[:-1] + (
        r',"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0,4-27\",\"entries\":{'
        r"\"39b37746-7f5e-4064-b8e1-eebd2bfaa003\":{\"app\":\"1-3\"}},\"podEntries\":{"
        r"\"39b37746-7f5e-4064-b8e1-eebd2bfaa003\":{\"cpuSet\":\"1-3\"}},\"baselines\":{"
        r'\"39b37746-7f5e-4064-b8e1-eebd2bfaa003\":{\"app\":{\"baseline\":\"1-3\"}}}}","dataChecksum":3817483193}'
    )


def test_what_json_escapes_is_escaped_twice_in_data() -> None:
    """1.37: `data` is JSON inside a JSON text."""
    assert cpu_bytes(CpuFile("static", "0-3", {"a<b": {'c"': "4"}}), "v4") == (
        r'{"policyName":"static","defaultCpuSet":"0-3","entries":{"a\u003cb":{"c\"":"4"}},"checksum":785162136,'
        r'"data":"{\"policyName\":\"static\",\"defaultCpuSet\":\"0-3\",\"entries\":{\"a\\u003cb\":'
        r'{\"c\\\"\":\"4\"}}}","dataChecksum":2529970240}'
    )


def test_the_gates_say_what_of_the_data_is_restored() -> None:
    """1.37: pods with PodLevelResourceManagers, baselines with InPlacePodVerticalScalingExclusiveCPUs."""
    text, default, held = cpu_bytes(MANAGED, "v4"), mask_of([0, *range(4, 28)]), {POD: {"app": 0b1110}}
    assert read(text, "1.37") == RestoredCpu("static", default, held)
    assert read(text, "1.37", gate=True) == RestoredCpu("static", default, held, {POD: 0b1110})
    assert read(text, "1.37", resize_gate=True) == RestoredCpu("static", default, held, baselines=held)


def test_only_the_data_count_once_they_are_there() -> None:
    """1.37 looks at neither the fields beside them nor their checksum; an older kubelet looks at nothing else."""
    text = with_data('{"policyName":"static","defaultCpuSet":"1"}', sealed(STATIC_TEXT, 5))
    assert read(text, "1.37") == RestoredCpu("static", 0b10)
    text = with_data('{"policyName":"static","defaultCpuSet":"1"}')
    assert read(text, "1.36") == read(text, "1.20") == read(STATIC_TEXT)


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"dataChecksum": 5}, "checkpoint is corrupted"),
        ({"dataChecksum": 0}, "checkpoint is corrupted"),
        ({"data": ""}, "failed to deserialize cpu manager checkpoint data: unexpected end of JSON input"),
        (
            {"data": 5},
            "failed to deserialize cpu manager checkpoint: json: cannot unmarshal number into Go struct field "
            "CPUManagerCheckpoint.data of type string",
        ),
        (
            {"data": '{"entries":5}'},
            "failed to deserialize cpu manager checkpoint data: json: cannot unmarshal number into Go struct field "
            "CPUManagerCheckpointData.entries of type map[string]map[string]string",
        ),
    ],
)
def test_bad_data_are_not_made_up_for_by_the_fields_beside_them(change: dict[str, object], cause: str) -> None:
    """1.37: good v2 fields do not help, and a checksum of 0 is no excuse."""
    text = json.dumps({**json.loads(cpu_bytes(STATIC, "v4")), **change})
    assert refusal(text, "1.37") == f"could not load v4 checkpoint: {cause}"


def test_files_of_older_kubelets_are_migrated() -> None:
    """1.37 reads v3 whatever the gate, under two type names, and v2; no longer v1."""
    older = CpuFile("static", "0,4-27", {POD: {"app": "1-3"}}, {POD: "1-3"})
    expected = read(STATIC_TEXT)
    own_name = checksum(cpu_dump(older, "v3").replace("Checkpoint)", "CheckpointV3)", 1))
    for text in (cpu_bytes(older, "v3"), sealed(cpu_bytes(older, "v3"), own_name)):
        assert read(text, "1.37") == expected
        assert read(text, "1.37", gate=True).pod_entries == {POD: 0b1110}
    assert read(STATIC_TEXT, "1.37") == read(sealed(STATIC_TEXT, 0), "1.37") == expected
    assert refusal(legacy_cpu_bytes(LegacyCpuFile("static", "0-3", {"id": "4"})), "1.37") == (
        "json: cannot unmarshal string into Go struct field CPUManagerCheckpointV2.entries.id of type map[string]string"
    )
    assert refusal(sealed(STATIC_TEXT, 5), "1.37") == "checkpoint is corrupted"


def test_a_failed_v3_attempt_leaves_no_pods_behind() -> None:
    """1.37 starts each attempt afresh; 1.36 did not."""
    text = '{"policyName":"static","defaultCpuSet":"0-3","podEntries":{"pod":{"cpuSet":"4-5"}},"checksum":0}'
    assert read(text, "1.37", gate=True) == RestoredCpu("static", 0b1111)


def test_baselines_default_to_the_exclusive_cpus_and_are_named_when_bad() -> None:
    """1.37 with InPlacePodVerticalScalingExclusiveCPUs; without the gate nobody looks at them."""
    assert read(STATIC_TEXT, "1.37", resize_gate=True).baselines == {POD: {"app": 0b1110}}
    bad = with_data('{"policyName":"static","baselines":{"p":{"c":{"baseline":"x"}}}}')
    assert refusal(bad, "1.37", resize_gate=True) == (
        'could not parse Baseline cpuset "x" for container "c" in pod "p": strconv.Atoi: parsing "x": invalid syntax'
    )
    assert read(bad, "1.37") == RestoredCpu("static")


def test_the_default_set_is_worded_anew_in_1_37() -> None:
    assert refusal('{"policyName":"static","defaultCpuSet":"x"}', "1.37") == (
        'could not parse default CPU set "x": strconv.Atoi: parsing "x": invalid syntax'
    )


NAMES = st.text(max_size=6)
CPUS = st.integers(0, (1 << 70) - 1).map(cpuset_text)
FILES = st.builds(
    CpuFile,
    NAMES,
    CPUS,
    st.dictionaries(NAMES, st.dictionaries(NAMES, CPUS, max_size=3), max_size=3),
    st.dictionaries(NAMES, CPUS, max_size=3),
)


@given(FILES, st.sampled_from(["1.20", "1.27", "1.35", "1.36", "1.37"]))
def test_what_is_written_is_restored(file: CpuFile, version: str) -> None:
    restored = read(cpu_bytes(file, "v2"), version, policy=file.policy)
    texts = {pod: {name: cpuset_text(mask) for name, mask in sets.items()} for pod, sets in restored.entries.items()}
    assert (file.policy, file.default, file.entries) == (restored.policy, cpuset_text(restored.default), texts)


@given(FILES)
def test_a_v3_file_round_trips_with_the_gate(file: CpuFile) -> None:
    text = cpu_bytes(file, "v3")
    pods = {pod: cpuset_text(mask) for pod, mask in read(text, policy=file.policy, gate=True).pod_entries.items()}
    assert pods == file.pod_entries
    assert parse_cpu(text) == file


@given(FILES, st.dictionaries(NAMES, st.dictionaries(NAMES, CPUS, max_size=2), min_size=1, max_size=2))
def test_a_v4_file_round_trips_with_both_gates(file: CpuFile, baselines: dict[str, dict[str, str]]) -> None:
    file = CpuFile(file.policy, file.default, file.entries, file.pod_entries, baselines)
    text = cpu_bytes(file, "v4")
    restored = read(text, "1.37", policy=file.policy, gate=True, resize_gate=True)
    pods = {pod: cpuset_text(mask) for pod, mask in restored.pod_entries.items()}
    texts = {pod: {name: cpuset_text(mask) for name, mask in sets.items()} for pod, sets in restored.baselines.items()}
    assert (pods, texts) == (file.pod_entries, baselines)
    assert parse_cpu(text) == file


@given(st.builds(LegacyCpuFile, NAMES, CPUS, st.dictionaries(NAMES, CPUS, max_size=3)))
def test_a_v1_file_round_trips(file: LegacyCpuFile) -> None:
    assert parse_legacy_cpu(legacy_cpu_bytes(file)) == file


DAMAGED = st.tuples(st.integers(0, len(STATIC_TEXT)), st.binary(max_size=2), st.integers(0, 3)).map(
    lambda cut: STATIC_TEXT.encode()[: cut[0]] + cut[1] + STATIC_TEXT.encode()[cut[0] + cut[2] :]
)


@given(st.binary(max_size=60) | DAMAGED, st.sampled_from(["1.20", "1.36", "1.37"]), st.booleans())
def test_arbitrary_bytes_give_a_value_or_the_named_error(data: bytes, version: str, gate: bool) -> None:
    with suppress(RestoreError):
        assert read(data, version, gate=gate).policy == "static"
