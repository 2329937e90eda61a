"""The memory manager's state file; the vectors come from kubelet tests and from files seen in the field."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.golang.spew import checksum
from numafit.ledger.files.checkpoint import RestoreError
from numafit.ledger.files.memory import memory_bytes, memory_dump, parse_memory, read_memory
from numafit.ledger.ledger import Block, MemoryFile, MemoryNode, MemoryTable
from numafit.settings.versions import behaviour_of, parse_version

BLOCK = (Block((0,), "memory", 512),)
UPSTREAM = MemoryFile(
    "static",
    {0: MemoryNode(0, {"memory": MemoryTable(2048, 512, 1536, 512, 1024)}, ())},
    {"pod": {"container1": BLOCK}},
)
TWO_NODES = MemoryFile(
    "Static",
    {
        0: MemoryNode(1, {"memory": MemoryTable(201703030784, 2147483648, 199555547136, 199555547136, 0)}, (0, 1)),
        1: MemoryNode(
            1, {"memory": MemoryTable(202892115968, 2147483648, 200744632320, 15192817664, 185551814656)}, (0, 1)
        ),
    },
    {"aaaaaaaa-0000-0000-0000-000000000002": {"big": (Block((0, 1), "memory", 214748364800),)}},
)
EMPTY = '{"policyName":"None","machineState":{},"checksum":4236770233}'


def read(text: str | bytes, version: str = "1.36", *, policy: str = "None", gate: bool = False) -> MemoryFile:
    behaviour = behaviour_of(parse_version(version))
    return read_memory(text, policy=policy, behaviour=behaviour, gate=gate, state_dir="/var/lib/kubelet")


def refusal(text: str | bytes, version: str = "1.36", *, policy: str = "None", gate: bool = False) -> str:
    with pytest.raises(RestoreError) as caught:
        read(text, version, policy=policy, gate=gate)
    before = "could not restore state from checkpoint: "
    after = (
        ", please drain this node and delete the memory manager checkpoint file "
        '"/var/lib/kubelet/memory_manager_state" before restarting Kubelet'
    )
    message = str(caught.value)
    assert message.startswith(before)
    assert message.endswith(after)
    return message.removeprefix(before).removesuffix(after)


def test_the_file_of_a_fresh_node_has_the_kubelet_s_checksum() -> None:
    assert memory_bytes(MemoryFile("None"), "v1") == EMPTY
    assert json.loads(memory_bytes(MemoryFile("None"), "v2"))["checksum"] == 512582496
    assert json.loads(memory_bytes(MemoryFile("Static"), "v1"))["checksum"] == 3940083781


def test_files_with_blocks_have_the_kubelet_s_checksums() -> None:
    """1.21 to 1.36; the second with PodLevelResourceManagers."""
    with_pod = MemoryFile(UPSTREAM.policy, UPSTREAM.nodes, UPSTREAM.entries, {"pod": BLOCK})
    files = [memory_bytes(UPSTREAM, "v1"), memory_bytes(with_pod, "v2"), memory_bytes(TWO_NODES, "v1")]
    assert [json.loads(file)["checksum"] for file in files] == [4215593881, 1278640530, 2438898867]


def test_the_bytes_are_those_of_the_kubelet() -> None:
    assert memory_bytes(TWO_NODES, "v1") == (
        '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"memory":{"total":201703030784,'
        '"systemReserved":2147483648,"allocatable":199555547136,"reserved":199555547136,"free":0}},"cells":[0,1]},"1":{'
        '"numberOfAssignments":1,"memoryMap":{"memory":{"total":202892115968,"systemReserved":2147483648,"allocatable":'
        '200744632320,"reserved":15192817664,"free":185551814656}},"cells":[0,1]}},"entries":{'
        '"aaaaaaaa-0000-0000-0000-000000000002":{"big":[{"numaAffinity":[0,1],"type":"memory","size":214748364800}]}},'
        '"checksum":2438898867}'
    )


def test_nodes_sort_as_text_in_the_file_and_as_numbers_in_the_dump() -> None:
    file = MemoryFile("Static", {2: MemoryNode(cells=(2,)), 10: MemoryNode(cells=(10,))})
    assert list(json.loads(memory_bytes(file, "v1"))["machineState"]) == ["10", "2"]
    assert memory_dump(file, "v1").index("2:<*>") < memory_dump(file, "v1").index("10:<*>")


@pytest.mark.parametrize(("version", "accepted"), [("1.21", False), ("1.35", False), ("1.36", True)])
def test_a_checksum_of_zero_is_accepted_since_1_36(version: str, accepted: bool) -> None:
    for text in ('{"policyName":"None","machineState":{}}', '{"policyName":"None","machineState":{},"checksum":0}'):
        if accepted:
            assert read(text, version) == MemoryFile("None")
        else:
            assert refusal(text, version) == "checkpoint is corrupted"


def test_a_file_of_the_gate_is_not_read_without_it() -> None:
    """1.36: the checksum covers pod entries even when there are none; the other way round the file is migrated."""
    gated = memory_bytes(MemoryFile("None"), "v2")
    assert read(gated, gate=True) == MemoryFile("None")
    assert refusal(gated, gate=False) == "checkpoint is corrupted"
    assert refusal(gated, "1.35", gate=True) == "checkpoint is corrupted"
    assert read(EMPTY, gate=True) == MemoryFile("None")


def test_with_the_gate_a_file_without_checksum_keeps_its_pod_entries() -> None:
    """1.36 fills the value of the failed v2 attempt from v1, which leaves the pod entries in it."""
    text = '{"policyName":"None","podEntries":{"p":{"memoryBlocks":[{"numaAffinity":[0],"type":"memory","size":512}]}}}'
    assert read(text, gate=True) == MemoryFile("None", pod_entries={"p": BLOCK})
    assert read(text, gate=False) == MemoryFile("None")


def test_without_the_gate_the_checksum_may_be_under_the_v1_type_name() -> None:
    own = checksum(memory_dump(MemoryFile("None"), "v1").replace("Checkpoint)", "CheckpointV1)", 1))
    text = EMPTY.replace("4236770233", str(own))
    assert read(text) == MemoryFile("None")
    assert refusal(text, gate=True) == "checkpoint is corrupted"
    assert refusal(text, "1.35") == "checkpoint is corrupted"


def test_faults_are_named_in_the_kubelet_s_words() -> None:
    assert refusal(EMPTY, policy="Static") == (
        '[memorymanager] configured policy "Static" differs from state checkpoint policy "None"'
    )
    assert refusal(EMPTY[:-3]) == "unexpected end of JSON input"
    assert refusal('{"machineState":{"0":{"cells":["x"]}}}', "1.27") == (
        "json: cannot unmarshal string into MemoryManagerCheckpoint.machineState.0.cells.0 of type int"
    )


def test_a_null_table_crashes_the_kubelet() -> None:
    """Copying the machine state follows the nil pointer (1.21 to 1.36)."""
    with pytest.raises(RestoreError, match="nil pointer dereference"):
        read('{"policyName":"None","machineState":{"0":{"memoryMap":{"memory":null}}}}')


def test_nulls_elsewhere_are_empty() -> None:
    text = (
        '{"policyName":"None","machineState":{"1":null,"0":{"memoryMap":null,"cells":null}},'
        '"entries":{"p":null,"q":{"c":null,"d":[null]}}}'
    )
    expected = MemoryFile(
        "None", {1: MemoryNode(), 0: MemoryNode()}, {"p": {}, "q": {"c": (), "d": (Block((), "", 0),)}}
    )
    assert read(text) == expected


def test_v3_files_are_those_of_the_kubelet() -> None:
    """1.37: the v1 file, then all contents as a text; only there stand the blocks of pods."""
    assert memory_bytes(MemoryFile("None"), "v3") == EMPTY[:-1] + (
        r',"data":"{\"policyName\":\"None\",\"machineState\":{}}","dataChecksum":3093843326}'
    )
    with_pod = MemoryFile(UPSTREAM.policy, UPSTREAM.nodes, UPSTREAM.entries, {"pod": BLOCK})
    file = json.loads(memory_bytes(with_pod, "v3"))
    assert (file["checksum"], file["dataChecksum"], "podEntries" in file) == (4215593881, 637296054, False)
    assert file["data"].endswith(
        '"podEntries":{"pod":{"memoryBlocks":[{"numaAffinity":[0],"type":"memory","size":512}]}}}'
    )


def test_only_the_data_count_once_they_are_there() -> None:
    """1.37 looks at nothing beside them; an older kubelet looks at nothing else."""
    text = memory_bytes(UPSTREAM, "v3")
    other = text.replace('"policyName":"static"', '"policyName":"None"', 1)
    assert read(other, "1.37", policy="static") == UPSTREAM
    assert refusal(other, "1.36") == "checkpoint is corrupted"
    assert read(text, "1.36", policy="static") == read(text, "1.21", policy="static") == UPSTREAM


@pytest.mark.parametrize(
    ("change", "cause"),
    [
        ({"dataChecksum": 5}, "checkpoint is corrupted"),
        ({"data": ""}, "failed to deserialize memory manager checkpoint data: unexpected end of JSON input"),
        (
            {"entries": 5},
            "failed to deserialize memory manager checkpoint: json: cannot unmarshal number into Go struct field "
            "MemoryManagerCheckpoint.entries of type state.ContainerMemoryAssignments",
        ),
    ],
)
def test_bad_data_are_not_made_up_for_by_the_fields_beside_them(change: dict[str, object], cause: str) -> None:
    """1.37: good v1 fields do not help."""
    text = json.dumps({**json.loads(memory_bytes(UPSTREAM, "v3")), **change})
    assert refusal(text, "1.37", policy="static") == f"could not load v3 checkpoint: {cause}"


def test_files_of_older_kubelets_are_migrated() -> None:
    """1.37 reads v2 whatever the gate, and v1 under the plain type name only."""
    with_pod = MemoryFile("static", UPSTREAM.nodes, UPSTREAM.entries, {"pod": BLOCK})
    assert read(memory_bytes(with_pod, "v2"), "1.37", policy="static") == UPSTREAM
    assert read(memory_bytes(with_pod, "v2"), "1.37", policy="static", gate=True) == with_pod
    own = checksum(memory_dump(MemoryFile("None"), "v1").replace("Checkpoint)", "CheckpointV1)", 1))
    assert refusal(EMPTY.replace("4236770233", str(own)), "1.37") == "checkpoint is corrupted"
    assert read(EMPTY, "1.37") == read('{"policyName":"None"}', "1.37") == MemoryFile("None")


def test_a_null_table_of_an_older_file_crashes_before_the_policy_is_compared() -> None:
    """1.37 copies the state as it migrates it; 1.36 compares first."""
    text = '{"policyName":"None","machineState":{"0":{"memoryMap":{"memory":null}}}}'
    with pytest.raises(RestoreError, match="nil pointer dereference"):
        read(text, "1.37", policy="Static")
    assert "differs from state checkpoint policy" in refusal(text, "1.36", policy="Static")


UINT = st.integers(0, (1 << 64) - 1)
NAMES = st.text(max_size=5)
BLOCK_LISTS = st.lists(
    st.builds(Block, st.lists(st.integers(0, 70), max_size=3).map(tuple), NAMES, UINT), min_size=1, max_size=2
)
BLOCKS = BLOCK_LISTS.map(tuple)
TABLES = st.builds(MemoryTable, UINT, UINT, UINT, UINT, UINT)
NODES = st.builds(
    MemoryNode,
    st.integers(-3, 99),
    st.dictionaries(NAMES, TABLES, max_size=2),
    st.lists(st.integers(-1, 70), max_size=3).map(tuple),
)
FILES = st.builds(
    MemoryFile,
    NAMES,
    st.dictionaries(st.integers(-(1 << 63), (1 << 63) - 1) | st.integers(0, 12), NODES, max_size=3),
    st.dictionaries(NAMES, st.dictionaries(NAMES, BLOCKS | st.just(()), max_size=2), max_size=2),
    st.dictionaries(NAMES, BLOCKS, max_size=2),
)


@given(FILES)
def test_a_v2_file_round_trips_with_the_gate(file: MemoryFile) -> None:
    text = memory_bytes(file, "v2")
    assert read(text, policy=file.policy, gate=True) == file
    assert parse_memory(text) == file


@given(FILES)
def test_a_v3_file_round_trips_and_shows_pods_with_the_gate(file: MemoryFile) -> None:
    text = memory_bytes(file, "v3")
    assert read(text, "1.37", policy=file.policy, gate=True) == parse_memory(text) == file
    assert read(text, "1.37", policy=file.policy) == MemoryFile(file.policy, file.nodes, file.entries)


@given(FILES, st.sampled_from(["1.21", "1.35", "1.36", "1.37"]), st.booleans())
def test_a_v1_file_round_trips_everywhere(file: MemoryFile, version: str, gate: bool) -> None:
    plain = MemoryFile(file.policy, file.nodes, file.entries)
    assert read(memory_bytes(file, "v1"), version, policy=file.policy, gate=gate) == plain


DAMAGED = st.tuples(st.integers(0, 400), st.binary(max_size=2), st.integers(0, 3)).map(
    lambda cut: (
        memory_bytes(UPSTREAM, "v1").encode()[: cut[0]]
        + cut[1]
        + memory_bytes(UPSTREAM, "v1").encode()[cut[0] + cut[2] :]
    )
)


@given(st.binary(max_size=60) | DAMAGED, st.sampled_from(["1.21", "1.36", "1.37"]), st.booleans())
def test_arbitrary_bytes_give_a_value_or_the_named_error(data: bytes, version: str, gate: bool) -> None:
    with suppress(RestoreError):
        assert read(data, version, policy="static", gate=gate).policy == "static"
