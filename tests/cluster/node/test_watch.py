import asyncio
import os
import shutil
import socket
from pathlib import Path

from numafit.cluster.node.watch import FolderWatch, socket_stamps

SECONDS = 10


async def told(event: asyncio.Event) -> bool:
    try:
        async with asyncio.timeout(SECONDS):
            await event.wait()
    except TimeoutError:
        return False
    event.clear()
    return True


def test_a_file_that_is_replaced_is_told(tmp_path: Path) -> None:
    """The kubelet writes a file of another name, and renames it."""

    async def story() -> None:
        event = asyncio.Event()
        watch = FolderWatch({tmp_path: ("state",)}, event.set)
        try:
            (tmp_path / ".new").write_text("1")
            await asyncio.sleep(0.05)
            assert not event.is_set()
            os.replace(tmp_path / ".new", tmp_path / "state")
            assert await told(event)
            (tmp_path / "state").unlink()
            assert await told(event)
        finally:
            watch.close()

    asyncio.run(story())


def test_a_folder_that_goes_and_comes_again_is_watched_again(tmp_path: Path) -> None:
    folder = tmp_path / "plugins"

    async def story() -> None:
        event = asyncio.Event()
        watch = FolderWatch({folder: ("state",)}, event.set)
        try:
            assert list(watch.unwatched) == [folder]
            folder.mkdir()
            watch.renew()
            assert len(watch.unwatched) == 0
            shutil.rmtree(folder)
            assert await told(event)
            folder.mkdir()
            watch.renew()
            (folder / "state").write_text("1")
            assert await told(event)
        finally:
            watch.close()

    asyncio.run(story())


def test_stamps_differ_when_a_file_has_changed(tmp_path: Path) -> None:
    async def story() -> None:
        watch = FolderWatch({tmp_path: ("state",), tmp_path / "other": ("state",)}, lambda: None)
        try:
            before = watch.stamps(tmp_path.name)
            assert before == (None,)
            (tmp_path / "state").write_text("1")
            assert watch.stamps(tmp_path.name) != before
            assert watch.stamps("other") == (None,)
        finally:
            watch.close()

    asyncio.run(story())


def test_a_plugin_that_was_started_again_has_another_socket(tmp_path: Path) -> None:
    (tmp_path / "kubelet_internal_checkpoint").write_text("1")
    assert socket_stamps(tmp_path / "none") == socket_stamps(tmp_path) == ()
    path = tmp_path / "plugin.sock"
    found = []
    for _ in range(2):
        with socket.socket(socket.AF_UNIX) as own:
            own.bind(os.path.relpath(path))
        found.append(socket_stamps(tmp_path))
        path.unlink()
    assert len(found[0]) == len(found[1]) == 1
    assert found[0] != found[1]
