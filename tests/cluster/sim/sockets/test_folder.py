"""Where sockets of a simulated node lie."""

import socket
from pathlib import Path

import pytest

from numafit.cluster.sim.sockets.folder import make_folders, plugins_socket, remove_stale, require_short
from numafit.errors import InputError


def bind(path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(path))


def test_a_path_that_is_too_long_for_a_socket_is_refused_with_a_cure() -> None:
    require_short(Path("/" + "x" * (106 - len("/device-plugins/kubelet.sock"))))
    with pytest.raises(InputError, match="the path of a socket in it has 108 bytes, and 107 is the most") as caught:
        require_short(Path("/" + "x" * (107 - len("/device-plugins/kubelet.sock"))))
    assert "1 bytes shorter" in (caught.value.cure or "")


def test_a_start_removes_sockets_and_before_1_33_other_files_too(tmp_path: Path) -> None:
    make_folders(tmp_path)
    folder = plugins_socket(tmp_path).parent
    for name in ("kubelet_internal_checkpoint", "DEPRECATION"):
        (folder / name).write_text("")
    (folder / "deeper").mkdir()
    bind(folder / "plugin.sock")
    remove_stale(tmp_path, sockets_only=True)
    assert sorted(path.name for path in folder.iterdir()) == ["DEPRECATION", "deeper", "kubelet_internal_checkpoint"]
    remove_stale(tmp_path, sockets_only=False)
    assert sorted(path.name for path in folder.iterdir()) == ["deeper", "kubelet_internal_checkpoint"]


def test_a_node_whose_sockets_are_served_already_is_refused(tmp_path: Path) -> None:
    make_folders(tmp_path)
    with socket.socket(socket.AF_UNIX) as one:
        one.bind(str(plugins_socket(tmp_path)))
        one.listen()
        with pytest.raises(InputError, match="another process answers at this socket"):
            make_folders(tmp_path)
    make_folders(tmp_path)
