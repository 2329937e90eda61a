"""The kubelet's files: kept once, put back whole, and looked at after the start."""

import os
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.cluster.switch.files import KubeletFiles
from numafit.errors import InputError
from numafit.ledger.files.cpu import CpuFile, cpu_bytes
from numafit.ledger.files.memory import memory_bytes
from numafit.ledger.ledger import MemoryFile
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE, state_path
from tests.cluster.switch.fake_node import NEW, OLD, FakeNode


@pytest.fixture
def node(tmp_path: Path) -> FakeNode:
    return FakeNode(tmp_path)


@pytest.fixture
def files(node: FakeNode) -> KubeletFiles:
    return KubeletFiles(node.journal())


def test_what_was_kept_first_is_what_comes_back(node: FakeNode, files: KubeletFiles) -> None:
    """A kubelet that ran in between has changed the state."""
    before = (node.root / CPU_FILE).read_text()
    files.keep()
    (node.root / CPU_FILE).write_text("another")
    assert "kept already" in files.keep()
    files.restore()
    assert (node.root / CPU_FILE).read_text() == before


def test_a_state_file_that_was_not_there_before_goes(node: FakeNode, files: KubeletFiles) -> None:
    files.keep()
    (node.root / MEMORY_FILE).write_text("new")
    device = state_path(node.root, DEVICE_FILE)
    device.parent.mkdir()
    device.write_text("new")
    files.restore()
    assert not (node.root / MEMORY_FILE).exists()
    assert not device.exists()


def test_a_configuration_behind_a_link_is_written_where_it_lies(node: FakeNode, files: KubeletFiles) -> None:
    real = node.root / "real.yaml"
    node.config.rename(real)
    node.config.symlink_to(real)
    files.write()
    assert node.config.is_symlink()
    assert real.read_text() == NEW
    assert real.stat().st_mode & 0o777 == 0o640
    files.restore()
    assert real.read_text() == OLD
    assert not list(node.root.glob(".numafit-*"))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root gives files away")
def test_the_configuration_keeps_its_owner(node: FakeNode, files: KubeletFiles) -> None:
    os.chown(node.config, 1234, 5678)
    files.keep()
    files.write()
    found = node.config.stat()
    assert (found.st_uid, found.st_gid) == (1234, 5678)
    kept = (files.before / "config.yaml").stat()
    assert (kept.st_uid, kept.st_gid, kept.st_mode & 0o777) == (1234, 5678, 0o640)


def test_state_files_of_the_new_kubelet_are_right(node: FakeNode) -> None:
    journal = node.journal()
    files = KubeletFiles(journal)
    (node.root / CPU_FILE).write_text(cpu_bytes(CpuFile("static", "0-3"), "v2"))
    assert files.verify() == f"{CPU_FILE} has the policy static"


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (cpu_bytes(CpuFile("none", "0-3"), "v2"), 'configured policy "static" differs from state checkpoint policy'),
        (cpu_bytes(CpuFile("static", "0-3"), "v2").replace("0-3", "0-2"), "checkpoint is corrupted"),
        (None, "the new kubelet has not written it"),
    ],
)
def test_state_files_that_are_not_those_of_the_new_kubelet_are_found(
    node: FakeNode, files: KubeletFiles, text: str | None, sentence: str
) -> None:
    path = node.root / CPU_FILE
    path.unlink()
    if text is not None:
        path.write_text(text)
    with pytest.raises(InputError, match=sentence):
        files.verify()


def test_a_device_file_that_is_damaged_is_found(node: FakeNode, files: KubeletFiles) -> None:
    (node.root / CPU_FILE).write_text(cpu_bytes(CpuFile("static", "0-3"), "v2"))
    device = state_path(node.root, DEVICE_FILE)
    device.parent.mkdir()
    device.write_text('{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{}},"Checksum":1}')
    with pytest.raises(InputError, match="is not what the new kubelet should write"):
        files.verify()


def test_a_memory_file_is_looked_at_as_well(node: FakeNode) -> None:
    journal = node.journal()
    journal.order = replace(journal.order, policies={MEMORY_FILE: "None"})
    (node.root / MEMORY_FILE).write_text(memory_bytes(MemoryFile("Static"), "v1"))
    with pytest.raises(InputError, match='configured policy "None" differs'):
        KubeletFiles(journal).verify()
