"""What the tests of the readers share: fixtures, captures of real machines, and damaged input."""

from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.machine.model import Machine

FIXTURES = Path(__file__).parent / "fixtures"
# Captures lie beside the checkout; without them their tests are skipped.
CAPTURES = Path(__file__).resolve().parents[3].parent / "shared" / "captures"
MACHINES = ("epyc2", "numa2smt", "numa3memonly", "numa4snc", "numa8")


def fixture(name: str) -> bytes:
    return (FIXTURES / name).read_bytes()


def capture(machine: str, name: str) -> bytes:
    path = CAPTURES / machine / name
    if not path.exists():
        pytest.skip(f"no capture of a real machine: {path}")
    return path.read_bytes()


def damaged(*names: str) -> st.SearchStrategy[bytes]:
    """Any bytes, or a fixture with a part of it cut out, doubled, or replaced by other bytes."""

    @st.composite
    def spoiled(draw: st.DrawFn) -> bytes:
        data = fixture(draw(st.sampled_from(names)))
        start = draw(st.integers(0, len(data)))
        end = draw(st.integers(start, min(len(data), start + 60)))
        words = [
            b"-1",
            b"4294967296",
            b"999999999999999999999",
            b"0-",
            b"X",
            b"0x",
            b"{}",
            b"[[",
            b"null",
            b"\xff",
            b"\n",
        ]
        middle = draw(
            st.one_of(st.just(b""), st.just(data[start:end] * 2), st.sampled_from(words), st.binary(max_size=9))
        )
        return data[:start] + middle + data[end:]

    return st.one_of(st.binary(max_size=300), spoiled())


def reads_or_refuses(read: Callable[[bytes, str], Machine], data: bytes) -> None:
    """A reader gives a machine with each id once, or one sentence that names the source."""
    refusal = ""
    try:
        machine = read(data, "a file")
    except InputError as error:
        machine, refusal = Machine(), str(error)
    assert refusal == "" or refusal.startswith("a file")
    for things in (machine.cpus, machine.numa_nodes):
        ids = [thing.id for thing in things]
        assert len(set(ids)) == len(ids)
    devices = [(device.resource, device.id) for device in machine.devices]
    assert len(set(devices)) == len(devices)
