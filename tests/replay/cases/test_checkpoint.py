"""Recorded cases of real kubelet code: a part of each file, for speed."""

import gzip
import json
from pathlib import Path

import pytest

from numafit.replay.cases.checkpoint import checkpoint_case
from numafit.settings.versions import parse_version

RECORDINGS = Path(__file__).resolve().parents[3].parent / "shared" / "oracle"
VERSIONS = ["v1.20.1", "v1.27.3", "v1.34.11", "v1.36.4"]


@pytest.mark.parametrize("version", VERSIONS)
def test_recorded_checkpoints_are_reproduced(version: str) -> None:
    """Bytes, dump and error texts, word for word. Which of several unknown container ids is named is random in Go."""
    recording = RECORDINGS / version / "checkpoint.jsonl.gz"
    if not recording.exists():
        pytest.skip("no recordings beside this checkout")
    with gzip.open(recording, "rt", encoding="utf-8") as lines:
        cases = [json.loads(line) for index, line in enumerate(lines) if index % 4 == 0]
    assert cases
    for case in cases:
        expected, actual = case["expect"], checkpoint_case(case["input"], parse_version(version))
        if "/error" in case.get("nondeterministic", ()):
            expected, actual = (
                {**result, "error": str(result["error"]).partition("containerID")[0]} for result in (expected, actual)
            )
        assert expected == actual, case["id"]


def test_a_written_case_gives_bytes_and_the_hashed_text() -> None:
    case = {
        "kind": "write",
        "spec": {"format": "cpu-v1", "state": {"policyName": "static", "defaultCpuSet": "0-3", "entries": {}}},
        "config": {"featureGates": {}},
    }
    assert checkpoint_case(case, parse_version("v1.20.1")) == {
        "bytes": '{"policyName":"static","defaultCpuSet":"0-3","checksum":3872722316}',
        "dump": (
            "(*state.CPUManagerCheckpointV1){PolicyName:(string)static DefaultCPUSet:(string)0-3 "
            "Entries:(map[string]string)map[] Checksum:(checksum.Checksum)0}"
        ),
        "legacyBytes": '{"policyName":"static","defaultCpuSet":"0-3","checksum":2479968155}',
        "error": None,
    }


def test_the_formats_of_1_37_are_written_and_read_back() -> None:
    """With the gates of the case: pods and baselines come from `data` only."""
    state = {"policyName": "static", "defaultCpuSet": "0-3", "entries": {"p": {"c": "4"}}}
    written = checkpoint_case({"kind": "write", "spec": {"format": "cpu-v4", "state": state}}, parse_version("1.37"))
    spec = {"format": "cpu", "bytes": written["bytes"], "policyName": "static"}
    gates = {"featureGates": {"InPlacePodVerticalScalingExclusiveCPUs": True}}
    assert checkpoint_case({"kind": "read", "spec": spec, "config": gates}, parse_version("1.37")) == {
        "error": None,
        "defaultCPUSet": "0-3",
        "entries": {"p": {"c": "4"}},
        "bytesAfter": written["bytes"],
    }
    state = {"policyName": "None", "machineState": {}}
    case = {"kind": "write", "spec": {"format": "memory-v3", "state": state}}
    assert str(checkpoint_case(case, parse_version("1.37"))["bytes"]).endswith('"dataChecksum":3093843326}')


def test_a_refused_file_is_left_as_it_was() -> None:
    case = {
        "kind": "read",
        "spec": {"format": "memory", "bytes": "hello", "policyName": "None", "initialContainers": []},
    }
    result = checkpoint_case(case, parse_version("v1.27.3"))
    assert result["bytesAfter"] == "hello"
    assert "invalid character 'h'" in str(result["error"])
    assert '"<STATE_DIR>/memory_manager_state"' in str(result["error"])
