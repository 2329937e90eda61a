"""The last survey of a machine, on disk: one file for each machine, beside the ledger."""

import hashlib
import os
from contextlib import suppress
from pathlib import Path

import msgspec

from numafit.host.book.folder import NoLedgerError, make_folder
from numafit.host.book.opening import NO_TRAPS, read_plain
from numafit.host.measure.result import Measured
from numafit.machine.model import Machine

_DIGITS = 16
_MOST_BYTES = 16 << 20


def digest_of(machine: Machine) -> str:
    """The same after a restart or with another kernel; another one when CPUs or NUMA nodes come or go, with memory or
    without, or the processor is another. How much memory a node has is told otherwise as a virtual machine gets it, and
    devices by each driver and by the host's file."""
    facts = (
        machine.model,
        sorted((cpu.id, cpu.core, cpu.socket, cpu.numa, cpu.online) for cpu in machine.cpus),
        sorted((node.id, node.memory > 0, node.distances) for node in machine.numa_nodes),
    )
    return hashlib.sha256(msgspec.json.encode(facts)).hexdigest()[:_DIGITS]


def file_of(folder: Path, digest: str) -> Path:
    return folder / f"measured-{digest}.json"


def keep(folder: Path, measured: Measured) -> str:
    """Why it could not be kept; empty: it was, whole."""
    file = file_of(folder, measured.machine)
    temporary = file.with_name(f".{file.name}-{os.getpid()}")
    try:
        make_folder(folder)
        try:
            temporary.unlink(missing_ok=True)
            handle = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | NO_TRAPS, 0o666)
            with open(handle, "wb") as writer:
                writer.write(msgspec.json.encode(measured))
            temporary.replace(file)
        finally:
            with suppress(OSError):
                temporary.unlink(missing_ok=True)
    except NoLedgerError as error:
        return str(error)
    except OSError as error:
        return f"{folder}: {error.strerror}"
    return ""


def kept(folder: Path, digest: str) -> Measured | None:
    """None: this machine was not measured, or by a numafit that wrote another format, or the file may not be read."""
    try:
        return msgspec.json.decode(read_plain(file_of(folder, digest), _MOST_BYTES), type=Measured)
    except (OSError, msgspec.MsgspecError):
        return None
