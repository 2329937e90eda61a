"""The bytes are what an assembler makes of the text beside them, and do what is said of them."""

import ctypes
import mmap
import subprocess
from array import array
from pathlib import Path
from shutil import which

import pytest

from numafit.host.measure import code
from numafit.host.measure.code import ASSEMBLY, MACHINE_CODE, Functions, functions

TOOLS = {"x86_64": ("x86_64-linux-gnu-as", "x86_64-linux-gnu-objcopy")}
TOOLS["aarch64"] = ("aarch64-linux-gnu-as", "aarch64-linux-gnu-objcopy")


def ours() -> Functions:
    found = functions()
    if isinstance(found, str):
        pytest.skip(found)
    return found


@pytest.mark.parametrize("architecture", MACHINE_CODE)
@pytest.mark.parametrize("name", ["chase", "answer"])
def test_the_bytes_are_what_an_assembler_makes(architecture: str, name: str, tmp_path: Path) -> None:
    """GNU's, for each architecture that it is installed for."""
    assembler, copier = TOOLS[architecture]
    if which(assembler) is None:
        pytest.skip(f"{assembler} is not installed")
    source = tmp_path / "source.s"
    source.write_text(ASSEMBLY[architecture][name] + "\n")
    subprocess.run([assembler, str(source), "-o", str(tmp_path / "object")], check=True)
    subprocess.run([copier, "-O", "binary", "-j", ".text", str(tmp_path / "object"), str(tmp_path / "raw")], check=True)
    assert (tmp_path / "raw").read_bytes().hex() == bytes.fromhex(MACHINE_CODE[architecture][name]).hex()


def test_a_chain_is_followed_for_as_many_loads_as_are_asked_for() -> None:
    """Offsets in bytes from the base."""
    chain = array("Q", [16, 0, 24, 8])
    base, _ = chain.buffer_info()
    assert [ours().chase(base, 0, loads) for loads in range(1, 5)] == [16, 24, 8, 0]


def test_who_is_not_answered_loses_patience() -> None:
    """The turns that are left are told, and the line keeps the number that nobody answered."""
    with mmap.mmap(-1, mmap.PAGESIZE) as page:
        held = ctypes.c_long.from_buffer(page)
        left, last = ours().answer(ctypes.addressof(held), 0, 3, 1000), held.value
        del held
    assert (left, last) == (2, 1)


def test_without_code_for_a_processor_that_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(code, "MACHINE_CODE", {"vax": {}})
    found = functions.__wrapped__()
    assert isinstance(found, str)
    assert found.endswith("only for vax")


def test_code_that_the_kernel_refuses_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    """As where executable memory is forbidden."""
    ours()

    def refuse(_: bytes) -> int:
        raise PermissionError(1, "Operation not permitted")

    monkeypatch.setattr(code, "_executable", refuse)
    assert functions.__wrapped__() == "the kernel lets no code of ours be executed: Operation not permitted"
