from pathlib import Path

import pytest

from numafit.cluster.node.process import config_sources, find_kubelet
from numafit.errors import InputError


def process(root: Path, number: int, *words: str, started: int = 7) -> None:
    folder = root / "proc" / str(number)
    folder.mkdir(parents=True)
    (folder / "cmdline").write_text("".join(f"{word}\0" for word in words))
    fields = " ".join(["0"] * 18)
    (folder / "stat").write_text(f"{number} (a kube) let) S {fields} {started} 0")


def test_the_kubelet_is_found_among_processes(tmp_path: Path) -> None:
    process(tmp_path, 1, "/sbin/init")
    process(tmp_path, 20, "/usr/bin/kubelet", "--config=/etc/kubelet.yaml", "--root-dir", "/data/kubelet", started=99)
    (tmp_path / "proc" / "21").mkdir()
    found, why = find_kubelet(tmp_path, "n1")
    assert found is not None
    assert (found.id, found.started, found.folder, why) == (20, 99, "/data/kubelet", "")
    assert found.flag("config") == "/etc/kubelet.yaml"


def test_one_of_another_node_is_not_ours(tmp_path: Path) -> None:
    process(tmp_path, 20, "kubelet", "--hostname-override=n2")
    assert find_kubelet(tmp_path, "n1") == (None, "a kubelet runs here, of another node")
    process(tmp_path, 21, "/hyperkube", "kubelet", "--hostname-override", "n1")
    found, _ = find_kubelet(tmp_path, "n1")
    assert found is not None
    assert found.arguments == ("--hostname-override", "n1")


def test_of_several_none_is_taken(tmp_path: Path) -> None:
    assert find_kubelet(tmp_path, "n1")[1].startswith("no process is called kubelet")
    for number in (20, 21):
        process(tmp_path, number, "kubelet")
    assert find_kubelet(tmp_path, "n1") == (None, "2 kubelets run here, and nothing tells which is that of n1")


def test_its_files_are_found_below_the_root(tmp_path: Path) -> None:
    process(tmp_path, 20, "kubelet", "--config=/etc/kubelet.yaml", "--config-dir=/etc/kubelet.d")
    kubelet, _ = find_kubelet(tmp_path, "n1")
    with pytest.raises(InputError, match="cannot be read"):
        config_sources(tmp_path, kubelet)
    (tmp_path / "etc" / "kubelet.d" / "a").mkdir(parents=True)
    (tmp_path / "etc" / "kubelet.yaml").write_text("kind: KubeletConfiguration")
    (tmp_path / "etc" / "kubelet.d" / "a" / "1.conf").write_text("one")
    (tmp_path / "etc" / "kubelet.d" / "2.conf").write_text("two")
    (tmp_path / "etc" / "kubelet.d" / "README").write_text("no")
    found = config_sources(tmp_path, kubelet)
    assert found is not None
    assert found.file == ("/etc/kubelet.yaml", "kind: KubeletConfiguration")
    assert found.drop_ins is not None
    assert {file.name for file in found.drop_ins} == {"/etc/kubelet.d/2.conf", "/etc/kubelet.d/a/1.conf"}
    assert found.arguments[0].text == "--config=/etc/kubelet.yaml"


def test_without_a_process_the_usual_file_counts(tmp_path: Path) -> None:
    assert config_sources(tmp_path, None) is None
    usual = tmp_path / "var" / "lib" / "kubelet"
    usual.mkdir(parents=True)
    (usual / "config.yaml").write_text("x")
    found = config_sources(tmp_path, None)
    assert found is not None
    assert found.file == ("/var/lib/kubelet/config.yaml", "x")
