"""Trees on disk and in archives."""

import gzip
import io
import os
import tarfile
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.machine.read.sysfs.archive import LARGEST_ARCHIVE, LARGEST_FILE, archive_tree, is_archive
from numafit.machine.read.sysfs.tree import FolderTree, Tree, open_tree

FORMATS = {"ustar": tarfile.USTAR_FORMAT, "gnu": tarfile.GNU_FORMAT, "pax": tarfile.PAX_FORMAT}
LONG = "sys/devices/" + "/".join(f"0000:{i:02x}:00.0" for i in range(30)) + "/numa_node"


def packed(members: list[tuple[str, bytes, str]], kind: int = tarfile.PAX_FORMAT) -> bytes:
    """(name, type, content or target) as a plain tar."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w", format=kind) as archive:
        for name, what, content in members:
            member = tarfile.TarInfo(name)
            member.type = what
            if what in (tarfile.SYMTYPE, tarfile.LNKTYPE):
                member.linkname = content
                archive.addfile(member)
            else:
                member.size = len(content.encode())
                archive.addfile(member, io.BytesIO(content.encode()))
    return data.getvalue()


def seen(tree: Tree, path: str) -> tuple[str | None, list[str], str | None]:
    return tree.text(path), tree.names(path), tree.link(path)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "sys/devices/a").mkdir(parents=True)
    (tmp_path / "sys/devices/a/class").write_text("0x030200\n")
    (tmp_path / "sys/devices/b").mkdir()
    (tmp_path / "sys/bus").mkdir()
    (tmp_path / "sys/bus/dev").symlink_to("../devices/a")
    return tmp_path


PATHS = ["sys", "sys/devices", "sys/devices/a", "sys/devices/a/class", "sys/devices/b", "sys/bus/dev", "sys/none", ""]
PATHS += ["sys/bus/dev/class", "sys/bus/dev/none", "sys/devices/a/class/deeper"]


@pytest.mark.parametrize("path", PATHS)
def test_a_folder_and_its_archive_are_the_same_tree(folder: Path, path: str) -> None:
    """Files, folders, links, and files behind links; what is missing is missing in both."""
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w:gz") as archive:
        archive.add(folder / "sys", "./sys")
    assert seen(archive_tree(data.getvalue(), "x"), path) == seen(FolderTree(folder), path)


@pytest.mark.parametrize("kind", FORMATS.values(), ids=FORMATS)
def test_all_formats_of_tar_are_read(kind: int) -> None:
    """Names up to 100 characters stand in the header; how longer ones are kept differs."""
    name = LONG[-200:] if kind == tarfile.USTAR_FORMAT else LONG
    tree = archive_tree(packed([("sys/x", tarfile.REGTYPE, "1"), (name, tarfile.REGTYPE, "-1\n")], kind), "x")
    assert (tree.text("sys/x"), tree.text(name)) == ("1", "-1\n")


def test_a_hard_link_has_the_content_of_its_file() -> None:
    """`tar` packs the second name of a file as a link to the first."""
    tree = archive_tree(packed([("a", tarfile.REGTYPE, "1"), ("b", tarfile.LNKTYPE, "a")]), "x")
    assert tree.text("b") == "1"


@pytest.mark.parametrize("target", ["../../etc", "b", "loop", "/nowhere", "../" * 60])
def test_a_link_leads_nowhere_but_to_other_members(target: str) -> None:
    """Out of the archive, in a circle, to nothing: all the same as missing."""
    tree = archive_tree(packed([("loop", tarfile.SYMTYPE, target), ("c", tarfile.REGTYPE, "1")]), "x")
    assert (tree.text("loop/c"), tree.link("loop")) == (None, target)


def test_a_link_from_the_root_starts_at_the_root_of_the_archive() -> None:
    """As it would on the machine that was packed."""
    tree = archive_tree(packed([("a/link", tarfile.SYMTYPE, "/b"), ("b/c", tarfile.REGTYPE, "1")]), "x")
    assert tree.text("a/link/c") == "1"


@pytest.mark.parametrize("name", ["../etc/passwd", "sys/../../x", "/../x"])
def test_a_member_outside_the_archive_is_refused(name: str) -> None:
    """Nothing is unpacked to disk, but such a file was made to deceive."""
    with pytest.raises(InputError, match=r"^box\.tgz: the member .* lies outside"):
        archive_tree(packed([(name, tarfile.REGTYPE, "1")]), "box.tgz")


def test_a_huge_member_is_refused() -> None:
    """No file of /sys or /proc is that large."""
    member = tarfile.TarInfo("sys/huge")
    member.size = LARGEST_FILE + 1
    with pytest.raises(InputError, match="more than 16 MiB"):
        archive_tree(member.tobuf() + bytes(1024), "x")


def test_an_archive_that_unpacks_without_end_is_refused() -> None:
    """A few kilobytes can hold gigabytes of zeros."""
    bomb = gzip.compress(bytes(1 << 20), 9) * (LARGEST_ARCHIVE // (1 << 20) + 1)
    with pytest.raises(InputError, match="unpacks to more than"):
        archive_tree(bomb, "x")


@pytest.mark.parametrize("cut", [40, 700, 1200])
def test_a_cut_archive_is_refused(cut: int) -> None:
    """A copy that broke off must not pass for a smaller machine."""
    data = packed([("a", tarfile.REGTYPE, "1" * 600), ("b", tarfile.REGTYPE, "2" * 600)])
    with pytest.raises(InputError):
        archive_tree(data[:cut], "x")
    with pytest.raises(InputError):
        archive_tree(gzip.compress(data)[: -cut // 40], "x")


def test_a_damaged_header_is_refused() -> None:
    """Each header has a checksum."""
    data = bytearray(packed([("a", tarfile.REGTYPE, "1"), ("b", tarfile.REGTYPE, "2")]))
    data[1024] ^= 1
    with pytest.raises(InputError, match="is damaged"):
        archive_tree(bytes(data), "x")


@given(data=st.binary(max_size=3000), packed_twice=st.booleans())
def test_arbitrary_bytes_are_refused(data: bytes, packed_twice: bool) -> None:
    """One sentence, never a traceback; only a run of zeros is an (empty) archive."""
    wanted = gzip.compress(data) if packed_twice else data
    if len(data) >= 512 and not data[:512].strip(b"\0"):
        return
    with pytest.raises(InputError, match=r"^x: "):
        archive_tree(wanted, "x")


@given(at=st.integers(0, 3000), value=st.integers(0, 255))
def test_a_changed_byte_gives_a_tree_or_a_sentence(at: int, value: int) -> None:
    """Names, sizes, types and records of a valid archive, each byte in turn."""
    data = bytearray(packed([(LONG, tarfile.REGTYPE, "1"), ("b", tarfile.SYMTYPE, LONG)]))
    data[at % len(data)] = value
    try:
        tree = archive_tree(bytes(data), "x")
    except InputError:
        return
    assert tree.text(LONG) in ("1", chr(value), None, "�")


def test_archives_are_told_by_their_first_bytes() -> None:
    """Packed or not; text is none."""
    plain = packed([("a", tarfile.REGTYPE, "1")])
    assert [is_archive(data) for data in (plain, gzip.compress(plain), b"available: 2 nodes", b"")] == [
        True,
        True,
        False,
        False,
    ]


def test_a_pipe_in_place_of_a_file_does_not_hang(tmp_path: Path) -> None:
    """A folder may hold anything."""
    os.mkfifo(tmp_path / "online")
    assert FolderTree(tmp_path).text("online") in (None, "")


def test_a_file_without_end_is_refused(tmp_path: Path) -> None:
    """A link to /dev/zero."""
    (tmp_path / "online").symlink_to("/dev/zero")
    with pytest.raises(InputError, match="more than 16 MiB"):
        FolderTree(tmp_path).text("online")


def test_a_tree_is_found_in_a_folder_or_in_the_archive_there(folder: Path, tmp_path: Path) -> None:
    """`sys.tgz` beside outputs of other tools is how captures often come."""
    other = tmp_path / "other"
    other.mkdir()
    with tarfile.open(other / "sys.tgz", "w:gz") as archive:
        archive.add(folder / "sys", "sys")
    expected = "0x030200\n"
    assert [open_tree(path).text("sys/devices/a/class") for path in (folder, other, other / "sys.tgz")] == [
        expected
    ] * 3


@pytest.mark.parametrize("name", ["", "empty", "none.tgz"])
def test_what_is_no_tree_is_refused(tmp_path: Path, name: str) -> None:
    """A folder with something else in it, an empty one, a missing file."""
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"holds neither|cannot be read"):
        open_tree(tmp_path / name)
