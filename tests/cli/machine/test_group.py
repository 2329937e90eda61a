"""`numafit machine`, called as a person calls it."""

import io
import json
import subprocess
import sys
import tarfile
from pathlib import Path
from xml.etree import ElementTree

import pytest
import yaml

from numafit.__main__ import main
from numafit.cli.options.machine import resolve_machine
from numafit.errors import InputError
from numafit.machine.catalogue.names import catalogue, machine_named
from tests.machine.read.readers import capture

TOPO = """\
\tGPU0\tGPU1\tCPU Affinity\tNUMA Affinity
GPU0\t X \tPIX\t0-3\t0
GPU1\tPIX\t X \t0-3\t0
"""


def run(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> tuple[int, str, str]:
    status = main(["machine", *arguments])
    captured = capsys.readouterr()
    return status, captured.out, captured.err


def test_the_live_machine_is_the_default(capsys: pytest.CaptureFixture[str]) -> None:
    """Whatever this test runs on has a CPU."""
    status, out, _ = run(["show"], capsys)
    assert status == 0
    assert "CPU" in out.splitlines()[0]


def test_a_catalogue_name_is_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """And `list` names them all."""
    _, listed, _ = run(["list"], capsys)
    assert [line.split()[0] for line in listed.splitlines()] == list(catalogue())
    _, shown, _ = run(["show", "--machine", "laptop"], capsys)
    assert shown.startswith("laptop: 1 socket, 1 NUMA node, 4 cores, 8 CPUs")


def test_a_sketch_is_a_machine(capsys: pytest.CaptureFixture[str]) -> None:
    """For machines that one does not have."""
    _, out, _ = run(["show", "--machine", "sketch:2 sockets x 4 cores x 2 threads"], capsys)
    assert "2 sockets, 2 NUMA nodes, 8 cores, 16 CPUs" in out


@pytest.mark.parametrize("form", ["json", "yaml"])
def test_the_machine_file_reads_back_as_the_same_machine(
    form: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """`show -o yaml > box.yaml`, then `--machine box.yaml` everywhere."""
    _, text, _ = run(["show", "--machine", "gpu8-128cpu", "-o", form], capsys)
    assert (json.loads if form == "json" else yaml.safe_load)(text)["name"] == "gpu8-128cpu"
    path = tmp_path / f"box.{form}"
    path.write_text(text)
    assert resolve_machine([str(path)]).machine == resolve_machine(["gpu8-128cpu"]).machine


def test_other_formats_are_what_they_say(capsys: pytest.CaptureFixture[str]) -> None:
    """SVG is XML, dot is a graph."""
    _, svg, _ = run(["show", "--machine", "laptop", "-o", "svg", "--theme", "dark"], capsys)
    assert ElementTree.fromstring(svg).tag.endswith("svg")
    _, dot, _ = run(["show", "--machine", "laptop", "-o", "dot"], capsys)
    assert dot.startswith('graph "laptop" {')


@pytest.mark.parametrize(("table", "rows"), [("cpus", 28), ("numa", 2), ("devices", 3), ("links", 3)])
def test_tables_have_a_row_for_each_thing(table: str, rows: int, capsys: pytest.CaptureFixture[str]) -> None:
    """And one line of heads."""
    _, out, _ = run(["show", "--machine", "p100-28cpu", "--table", table], capsys)
    assert len(out.splitlines()) == rows + 1


def test_a_table_is_text_only(capsys: pytest.CaptureFixture[str]) -> None:
    """`--table` with `-o svg` is a mistake, not a choice."""
    status, _, error = run(["show", "--table", "cpus", "-o", "svg"], capsys)
    assert status == 2
    assert "--table is text" in error


def test_width_and_plain_characters_are_kept(capsys: pytest.CaptureFixture[str]) -> None:
    """For narrow or old terminals."""
    _, out, _ = run(["show", "--machine", "dgx-a100", "--width", "60", "--ascii"], capsys)
    assert max(map(len, out.splitlines())) == 60
    assert out.isascii()


def test_an_output_that_cannot_carry_frames_gets_plain_ones() -> None:
    """A terminal or pipe with another encoding."""
    command = [sys.executable, "-m", "numafit", "machine", "show", "--machine", "laptop"]
    done = subprocess.run(
        command, capture_output=True, check=True, env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": ":".join(sys.path)}
    )
    assert done.stdout.decode("ascii").splitlines()[4].startswith("+- Socket 0 -")


def test_links_come_from_a_pasted_matrix(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A file or standard input, no CPU known."""
    path = tmp_path / "topo.txt"
    path.write_text(TOPO)
    _, from_file, _ = run(["links", "--machine", str(path)], capsys)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(TOPO.encode())))
    _, from_input, _ = run(["links", "--machine", "-"], capsys)
    assert from_file == from_input
    assert "2 GPUs: GPU0 GPU1; NUMA 0; linked by PIX; score 50" in from_file.splitlines()


def test_links_as_json_name_the_best_sets(capsys: pytest.CaptureFixture[str]) -> None:
    """For programs; sizes as asked for."""
    _, out, _ = run(["links", "--machine", "gpu8-128cpu", "--gpus", "5", "-o", "json"], capsys)
    value = json.loads(out)
    assert [(found["size"], found["crosses"], found["split"]) for found in value["sets"]] == [
        (5, True, [{"numa": 0, "gpus": 4}, {"numa": 1, "gpus": 1}])
    ]


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("2 cores", "2 cores: is neither a file nor a machine of the catalogue (a sketch begins with sketch:)"),
        ("lapto", "lapto: is neither a file nor a machine of the catalogue (did you mean laptop?)"),
        ("no/such.yaml", "no/such.yaml: no such file (`numafit machine list` shows the machines known by name)"),
    ],
)
def test_an_unknown_machine_is_one_clear_line(spec: str, message: str, capsys: pytest.CaptureFixture[str]) -> None:
    """Exit status 2, and what to do."""
    status, out, error = run(["show", "--machine", spec], capsys)
    assert (status, out, error) == (2, "", f"numafit: {message}\n")


def test_what_sources_disagree_about_stands_below_the_drawing(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """Both values, the one taken, and why; beside a file format it goes to standard error."""
    first, second = tmp_path / "a.yaml", tmp_path / "b.yaml"
    head = "format: numafit/machine/v1\ncpus:\n- {numa: 0, socket: 0, cpus: 0-3}\nnumaNodes:\n"
    first.write_text(head + "- {id: 0, memory: 64Gi}\n")
    second.write_text(head + "- {id: 0, memory: 32Gi}\n")
    specs = ["--machine", str(first), "--machine", str(second)]
    _, out, _ = run(["show", "--width", "1000", *specs], capsys)
    assert out.splitlines()[-2] == "The sources disagree:"
    assert all(part in out.splitlines()[-1] for part in ("64Gi", "32Gi", "taken: 64Gi"))
    _, out, error = run(["show", "-o", "json", *specs], capsys)
    assert json.loads(out)["numaNodes"][0]["memory"] == "64Gi"
    assert "The sources disagree:" in error


def capture_of(path: Path, files: dict[str, str]) -> Path:
    with tarfile.open(path, "w:gz") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text.encode())
            archive.addfile(member, io.BytesIO(text.encode()))
    return path


TREE = {
    "sys/devices/system/cpu/online": "0\n",
    "sys/devices/system/cpu/cpu0/topology/core_id": "0\n",
    "sys/devices/system/cpu/cpu0/topology/physical_package_id": "0\n",
    "sys/devices/system/node/node0/cpu0/topology/core_id": "0\n",
    "sys/devices/system/node/node0/meminfo": "Node 0 MemTotal:  1024 kB\n",
    "proc/cpuinfo": "processor : 0\nphysical id : 0\n",
}


def test_a_capture_brings_the_outputs_of_other_tools_along(tmp_path: Path) -> None:
    """They are sources of their own; one that cannot be read is reported, not a reason to refuse."""
    outputs = {"commands/nvidia-smi-topo-m.txt": TOPO, "commands/numactl-hardware.txt": "what?\n"}
    combined = resolve_machine([str(capture_of(tmp_path / "box.tgz", {**TREE, **outputs}))])
    assert [device.label for device in combined.machine.devices] == ["GPU0", "GPU1"]
    assert "what numactl-hardware.txt says" in [found.what for found in combined.disagreements]


def test_a_folder_is_a_tree(tmp_path: Path) -> None:
    """Unpacked, it is the same machine."""
    packed = capture_of(tmp_path / "box.tgz", TREE)
    folder = tmp_path / "box"
    for name, text in TREE.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    assert resolve_machine([str(folder)]).machine == resolve_machine([str(packed)]).machine


@pytest.mark.parametrize("name", ["numa2smt", "numa8", "numa3memonly"])
def test_captured_machines_are_shown(name: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Trees of real Linux kernels."""
    path = tmp_path / "sys.tgz"
    path.write_bytes(capture(name, "sys.tgz"))
    status, out, _ = run(["show", "--machine", str(path), "--width", "80"], capsys)
    assert status == 0
    assert max(map(len, out.splitlines())) <= 80


def test_bytes_that_are_no_machine_are_refused(tmp_path: Path) -> None:
    """With the name of the file."""
    path = tmp_path / "noise"
    path.write_bytes(bytes(range(256)))
    with pytest.raises(InputError) as caught:
        resolve_machine([str(path)])
    assert caught.value.source == str(path)


def test_json_and_yaml_load_no_drawing() -> None:
    """`-o json` must start quickly; drawings are for people."""
    code = (
        "import sys\nfrom numafit.__main__ import main\nmain('machine show --machine laptop -o json'.split())\n"
        "print('numafit.show.draw.terminal' in sys.modules, file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "False"


def test_help_of_the_group_loads_no_command() -> None:
    """Commands are imported when they are called."""
    code = (
        "import sys\nfrom numafit.__main__ import main\nassert main(['machine', '--help']) == 0\n"
        "there = {name for name in sys.modules if name.startswith('numafit.cli.machine.')}\n"
        "print(sorted(there - {'numafit.cli.machine.group'}), file=sys.stderr)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stderr.strip() == "[]"


def test_the_catalogue_machine_is_taken_unchanged() -> None:
    """One source alone is not altered by combining."""
    assert resolve_machine(["p100-28cpu"]).machine.cpus == machine_named("p100-28cpu").cpus
