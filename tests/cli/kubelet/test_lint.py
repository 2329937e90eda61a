"""`numafit lint`, called as a person calls it."""

import json
from pathlib import Path

import pytest

from numafit.__main__ import main
from numafit.advice.lint.manual import page_of
from tests.advice.lint.lint_files import GOOD, HEAD

WRONG = HEAD + 'cpuManagerPolicy: Static\nreservedSystemCPUs: "0"\n'


@pytest.fixture
def wrong(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A configuration with a wrong policy name, `k,1.yaml` in the current folder."""
    monkeypatch.chdir(tmp_path)
    path = Path("k,1.yaml")
    path.write_text(WRONG)
    return path


NOT_CHECKED = "Not checked without a machine (--machine): "
RESERVED = "whether the machine has the reserved CPUs; whether the machine has what is reserved"


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["lint", "--kube-version", "1.36.4", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_nothing_found_ends_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "kubelet.yaml").write_text(GOOD)
    machine = ["--machine", "dgx-h100"]
    assert run([str(tmp_path), *machine], capsys) == (0, "1 file looked at: nothing found\n", "")


def test_what_needs_a_machine_is_said_not_to_be_checked_without_one(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "kubelet.yaml").write_text(HEAD + "topologyManagerPolicy: restricted\ncpuManagerPolicy: none\n")
    status, out, _ = run([str(tmp_path)], capsys)
    assert status == 1
    assert out.splitlines()[-2:] == [NOT_CHECKED + "whether the topology manager takes so many NUMA nodes",
                                     "1 file looked at: 1 warning"]  # fmt: skip


def test_an_error_ends_with_1_and_tells_place_and_cure(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert run([str(wrong)], capsys) == (
        1,
        'k,1.yaml:3:19: error: NF105 the kubelet would not start: "unknown policy: "Static""\n'
        "    cure: write static: case matters\n"
        f"{NOT_CHECKED}{RESERVED}\n"
        "1 file looked at: 1 error\n",
        "",
    )


def test_hints_alone_end_with_0(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "kubelet.yaml"
    path.write_text(GOOD + 'reservedSystemCPUs: "0-1"\n')
    status, out, _ = run([str(path)], capsys)
    assert (status, "info: NF206" in out) == (0, True)


@pytest.mark.parametrize("data", [b"\xff\xfe\x00", b"a: [", b"answer: 42\n", b""])
def test_a_file_that_is_no_such_file_ends_with_2(data: bytes, wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The others are looked at all the same."""
    Path("broken").write_bytes(data)
    status, out, _ = run(["broken", str(wrong)], capsys)
    assert (status, "NF00" in out, "NF105" in out) == (2, True, True)


def test_a_file_that_is_not_there_ends_with_2(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(["/no/such/file"], capsys)
    assert (status, out) == (2, "")
    assert err.startswith("numafit: /no/such/file: cannot be read")


def test_json_has_one_entry_per_finding(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    _, out, _ = run(["-o", "json", str(wrong)], capsys)
    assert json.loads(out) == {
        "findings": [
            {
                "code": "NF105",
                "severity": "error",
                "file": "k,1.yaml",
                "line": 3,
                "column": 19,
                "message": 'the kubelet would not start: "unknown policy: "Static""',
                "cure": "write static: case matters",
                "fixable": True,
                "manual": "numafit lint --explain NF105",
            }
        ],
        "files": 1,
        "counts": {"error": 1, "warning": 0, "info": 0},
        "unchecked": [
            {"check": check, "text": text, "because": ["machine"], "file": "k,1.yaml"}
            for check, text in zip(("reserved-cpus", "capacity"), RESERVED.split("; "), strict=True)
        ],
        "notes": [],
    }


def test_sarif_names_rule_level_and_region(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """SARIF 2.1.0: a result points into the list of rules, and its location is a URI with line and column."""
    _, out, _ = run(["-o", "sarif", str(wrong)], capsys)
    log = json.loads(out)
    (found,) = log["runs"]
    (result,) = found["results"]
    assert log["version"] == "2.1.0"
    assert found["tool"]["driver"]["rules"][result["ruleIndex"]]["id"] == result["ruleId"] == "NF105"
    assert result["level"] == "error"
    assert found["tool"]["driver"]["rules"][0]["help"]["markdown"].startswith("# NF105: ")
    assert result["locations"][0]["physicalLocation"] == {
        "artifactLocation": {"uri": "k%2C1.yaml"},
        "region": {"startLine": 3, "startColumn": 19},
    }


def test_github_annotations_are_escaped(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A comma in a property and a percent sign in a message would be read as something else."""
    wrong.write_text(HEAD + "evictionHard: {memory.available: 1Gi}\n")
    _, out, _ = run(["-o", "github", str(wrong)], capsys)
    assert out.startswith("::warning file=k%2C1.yaml,line=3,col=1,title=NF202::evictionHard replaces")
    assert "nodefs.available 10%25," in out


def test_fix_writes_the_file_and_keeps_its_mode(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong.chmod(0o600)
    status, out, err = run(["--fix", str(wrong)], capsys)
    assert (status, err) == (0, "k,1.yaml: fixed\n")
    assert out == f"{NOT_CHECKED}{RESERVED}\n1 file looked at: nothing found\n"
    assert wrong.read_text() == WRONG.replace("Static", "static")
    assert wrong.stat().st_mode & 0o777 == 0o600


def test_the_release_and_the_machine_matter(wrong: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wrong.write_text(HEAD + "memoryManagerPolicy: None\n")
    assert run([str(wrong)], capsys)[0] == 0
    assert "NF201" in run(["--kube-version", "1.20", str(wrong)], capsys)[1]
    wrong.write_text(HEAD + 'reservedSystemCPUs: "0-99"\n')
    assert run([str(wrong)], capsys)[0] == 0
    assert "NF114" in run(["--machine", "laptop", str(wrong)], capsys)[1]


def test_explain_prints_the_page_of_a_code_and_needs_no_files(capsys: pytest.CaptureFixture[str]) -> None:
    """Case does not matter."""
    status, out, err = run(["--explain", "nf106"], capsys)
    assert (status, err) == (0, "")
    assert out == page_of("NF106")


def test_explain_refuses_what_is_no_code(capsys: pytest.CaptureFixture[str]) -> None:
    status, out, err = run(["--explain", "NF999"], capsys)
    assert (status, out) == (2, "")
    assert err.startswith('numafit: "NF999" is no code of lint')


def test_what_is_guessed_of_the_machine_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """A finding, or that there is none, stands on the machine that it was checked against."""
    (tmp_path / "numactl.txt").write_text("available: 1 nodes (0)\nnode 0 cpus: 0 1 2 3\nnode 0 size: 16000 MB\n")
    (tmp_path / "kubelet.yaml").write_text(GOOD)
    arguments = [str(tmp_path / "kubelet.yaml"), "--machine", str(tmp_path / "numactl.txt")]
    _, out, _ = run([*arguments, "-o", "json"], capsys)
    assert "cores-guessed" in [note["code"] for note in json.loads(out)["notes"]]
    assert run([*arguments, "--strict"], capsys)[0] == 2


def test_a_resource_that_the_node_does_not_offer_is_noted(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """The kubelet would admit the pod, so no finding says so: it drops the resource."""
    (tmp_path / "kubelet.yaml").write_text(GOOD)
    limits = "{cpu: 1, memory: 1Gi, nvidia.com/gpus: 1}"
    (tmp_path / "pod.yaml").write_text(
        "apiVersion: v1\nkind: Pod\nmetadata: {name: a}\n"
        f"spec: {{containers: [{{name: c, image: i, resources: {{limits: {limits}}}}}]}}\n"
    )
    _, out, _ = run([str(tmp_path), "--machine", "dgx-h100", "-o", "json"], capsys)
    (note,) = json.loads(out)["notes"]
    assert (note["code"], note["about"]) == ("resource-not-offered", "default/a")
    assert note["text"].endswith("(the nearest that it offers is nvidia.com/gpu)")
