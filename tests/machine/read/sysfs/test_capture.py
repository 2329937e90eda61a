"""Captures: exactly what the reader uses, nothing private, and the same machine when it is read back."""

import io
import os
import stat
import tarfile
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from numafit.cli.machine import capture as machine_capture
from numafit.errors import InputError
from numafit.host import this_machine as live
from numafit.machine.model import Machine
from numafit.machine.read.sysfs.archive import archive_tree
from numafit.machine.read.sysfs.capture import capture_data, captured_files, captured_outputs
from numafit.machine.read.sysfs.machine import read_sysfs
from numafit.machine.read.sysfs.tree import Tree, open_tree
from tests.machine.read.readers import CAPTURES
from tests.machine.read.sysfs.trees import CPUS, NODES, MapTree, pci, server

TREES = sorted(CAPTURES.glob("*/sys.tgz"))
UUID = "GPU-77a702db-e37f-3a74-d46d-c5713f66058c"
OTHER_UUID = "GPU-9b341c59-f96b-ba85-c137-78c3652fea65"
STAND_IN = "GPU-00000000-0000-0000-0000-000000000001"


def box() -> MapTree:
    """Two GPUs and a network card, with all that is private in their files."""
    files = server(nodes=2)
    links: dict[str, str] = {}
    for address, uuid in (("0000:11:00.0", UUID), ("0000:12:00.0", OTHER_UUID)):
        own_files, own_links = pci(f"pci0000:10/0000:10:00.0/{address}", "0x030200", "0x10de", "1")
        driver = f"proc/driver/nvidia/gpus/{address}/information"
        files |= own_files | {driver: f"Model: \t NVIDIA H200\nGPU UUID: \t {uuid}\nVideo BIOS: \t 96.00.99\n"}
        links |= own_links
    own_files, own_links = pci("pci0000:20/0000:20:00.0", "0x020700", "0x15b3")
    files |= own_files | {"sys/devices/pci0000:20/0000:20:00.0/infiniband/rocex5254001234ab/": ""}
    files["proc/cpuinfo"] += "\nSerial\t\t: 10000000deadbeef\n"
    files |= {"sys/class/dmi/id/product_serial": "SECRET", "etc/hostname": "SECRET"}
    return MapTree(files, links | own_links)


def read_back(tree: Tree, *, keep_names: bool = True) -> Machine:
    return read_sysfs(archive_tree(capture_data(captured_files(tree, "x"), {}, keep_names=keep_names), "x"), "x")


def contents(data: bytes) -> dict[str, bytes]:
    with tarfile.open(fileobj=io.BytesIO(data)) as archive:
        files = {member.name: archive.extractfile(member) for member in archive if member.isfile()}
        return {name: file.read() for name, file in files.items() if file}


@pytest.mark.skipif(not TREES, reason="the captures of real machines are not here")
@pytest.mark.parametrize("path", TREES, ids=lambda path: path.parent.name)
def test_a_real_machine_read_back_is_the_same(path: Path) -> None:
    """Stand-ins change nothing where there is no GPU."""
    tree = open_tree(path)
    assert read_back(tree, keep_names=False) == read_sysfs(tree, "x")


def test_a_box_with_gpus_read_back_is_the_same() -> None:
    """When names are kept."""
    assert read_back(box()) == read_sysfs(box(), "x")


@settings(max_examples=25)
@given(data=st.data())
def test_any_machine_read_back_is_the_same(data: st.DataObject) -> None:
    """Shapes, and files that are missing; where the machine cannot be read, the capture cannot be either."""
    shape = data.draw(st.tuples(st.integers(1, 3), st.integers(1, 3), st.integers(1, 2)))
    files = server(*shape)
    for path in data.draw(st.lists(st.sampled_from(sorted(files)), max_size=8, unique=True)):
        del files[path]
    tree = MapTree(files)
    try:
        expected: object = read_sysfs(tree, "x")
    except InputError as error:
        expected = str(error)
    try:
        actual: object = read_back(tree)
    except InputError as error:
        actual = str(error)
    assert actual == expected


def test_an_offline_cpu_is_read_back() -> None:
    """Nothing of it can be read but its name."""
    files = {path: text for path, text in server(nodes=1).items() if f"{CPUS}/cpu3/" not in path}
    tree = MapTree(files | {f"{CPUS}/cpu3/": "", f"{CPUS}/online": "0-2,4-7\n"})
    assert read_back(tree) == read_sysfs(tree, "x")
    assert read_back(tree).cpus[-1].online is False


def test_nothing_private_is_captured() -> None:
    """Neither from files that the reader uses nor from others."""
    outputs = {
        "nvidia-smi-L.txt": f"GPU 0: NVIDIA H200 (UUID: {UUID})\n  MIG 1g.18gb Device 0: (UUID: MIG-{UUID[4:]})\n",
        "lstopo.xml": '<?xml version="1.0"?>\n<info name="HostName" value="SECRET"/>\n'
        '<info name="CPUModel" value="T"/>\n<info name="DMIProductSerial" value="SECRET"/>\n'
        '<object name="enx5254001234ab"/>at 52:54:00:12:34:ab\n',
    }
    packed = capture_data(captured_files(box(), "x"), outputs, keep_names=False)
    with tarfile.open(fileobj=io.BytesIO(packed)) as archive:
        names = " ".join(archive.getnames())
    data = b"".join(contents(packed).values()).decode()
    for private in ("SECRET", "77a702db", "9b341c59", "deadbeef", "96.00.99", "5254001234ab", "52:54"):
        assert private not in data + names
    assert "CPUModel" in data


def test_a_gpu_has_the_same_stand_in_everywhere() -> None:
    """So that what /proc and nvidia-smi say of it still fits together."""
    files = contents(
        capture_data(captured_files(box(), "x"), {"nvidia-smi-L.txt": f"(UUID: {UUID})"}, keep_names=False)
    )
    assert files["proc/driver/nvidia/gpus/0000:11:00.0/information"].decode().endswith(f"GPU UUID: \t {STAND_IN}\n")
    assert files["commands/nvidia-smi-L.txt"].decode() == f"(UUID: {STAND_IN})"
    assert [device.id[-2:] for device in read_back(box(), keep_names=False).devices[:2]] == ["01", "02"]


def test_names_are_kept_on_request() -> None:
    """Among people who may see them."""
    tree = archive_tree(capture_data(captured_files(box(), "x"), {"a.txt": "52:54:00:12:34:ab"}, keep_names=True), "x")
    assert captured_outputs(tree) == {"a.txt": "52:54:00:12:34:ab"}
    assert [device.id for device in read_sysfs(tree, "x").devices[:2]] == [UUID, OTHER_UUID]


def test_only_what_the_reader_uses_is_captured() -> None:
    """And of it only the lines that it uses."""
    files = contents(capture_data(captured_files(box(), "x"), {}, keep_names=True))
    assert files["proc/meminfo"] == b"MemTotal:       2000000 kB\n"
    assert {name.split("/")[0] for name in files} == {"proc", "sys"}
    assert f"{NODES}/node0/meminfo" in files
    assert not any("dmi" in name for name in files)


def test_equal_machines_give_equal_bytes() -> None:
    """No times, no owners."""
    assert len({capture_data(captured_files(box(), "x"), {}, keep_names=False) for _ in range(2)}) == 1


def test_the_command_writes_a_file_that_reads_back(tmp_path: Path) -> None:
    """It names the file that it wrote."""
    box().write(tmp_path)
    out = tmp_path / "box.tgz"
    result = CliRunner().invoke(
        machine_capture.capture, ["--root", str(tmp_path), "--out", str(out), "--keep-names"], standalone_mode=False
    )
    assert (result.return_value, result.output.split(":")[0]) == (0, str(out))
    assert read_sysfs(open_tree(out), "x") == read_sysfs(box(), "x")


def test_a_machine_that_cannot_be_read_is_captured_as_far_as_it_goes(tmp_path: Path) -> None:
    """Such a capture is what a bug report needs; the exit status is 1."""
    MapTree({**server(), f"{CPUS}/cpu0/topology/core_id": "none"}).write(tmp_path)
    out = tmp_path / "box.tgz"
    result = CliRunner().invoke(
        machine_capture.capture, ["--root", str(tmp_path), "--out", str(out)], standalone_mode=False
    )
    assert result.return_value == 1
    assert "is not a number" in result.output
    with pytest.raises(InputError, match="is not a number"):
        read_sysfs(open_tree(out), "x")


def test_a_folder_that_is_not_there_leaves_nothing_behind(tmp_path: Path) -> None:
    """The capture is written whole or not at all."""
    MapTree(server(nodes=1, cores=1)).write(tmp_path / "box")
    arguments = ["--root", str(tmp_path / "box"), "--out", str(tmp_path / "none" / "x.tgz")]
    result = CliRunner().invoke(machine_capture.capture, arguments, standalone_mode=False)
    assert isinstance(result.exception, InputError)
    assert [path.name for path in tmp_path.iterdir()] == ["box"]


def test_only_a_plain_file_is_replaced(tmp_path: Path) -> None:
    """`--out /dev/null` as root must not put a file in its place."""
    MapTree(server(nodes=1, cores=1)).write(tmp_path / "box")
    os.mkfifo(tmp_path / "pipe")
    arguments = ["--root", str(tmp_path / "box"), "--out", str(tmp_path / "pipe")]
    result = CliRunner().invoke(machine_capture.capture, arguments, standalone_mode=False)
    assert isinstance(result.exception, InputError)
    assert (tmp_path / "pipe").is_fifo()


def test_tools_that_hang_fail_or_are_missing_are_left_out(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A sick driver must not stop the capture."""
    for name, text in {"numactl": "echo available: 1 nodes", "lscpu": "exit 1", "nvidia-smi": "exec sleep 60"}.items():
        script = tmp_path / name
        script.write_text(f"#!/bin/sh\n{text}\n")
        script.chmod(script.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{tmp_path}:/usr/bin:/bin")
    monkeypatch.setattr(live, "TIMEOUT", 0.2)
    lines = {name: lines for name, lines in live.TOOLS.items() if name != "lstopo.xml"}
    monkeypatch.setattr(live, "TOOLS", {**lines, "x.txt": (("numafit-no-such-tool",),)})
    assert live.tool_outputs() == {"numactl-hardware.txt": "available: 1 nodes\n"}
