"""What the readers of tool output share: decoding, numbers, id lists, PCI addresses."""

import re

from numafit.bits import LARGEST_ID, parse_cpuset
from numafit.errors import InputError, KubeletError

LARGEST_TEXT = 16 << 20
"""Bytes; the largest real one is the hwloc XML of a big machine, about 2 MiB per 1,000 CPUs."""

LARGEST_AMOUNT = 1 << 63

UNKNOWN = -1
"""Core, socket and NUMA node of a CPU that is offline."""

_TERMINAL_CODE = r"\x1b\[[0-9;]{0,20}[A-Za-z]"
_PCI_ADDRESS = r"(?:([0-9a-fA-F]{4,8}):)?([0-9a-fA-F]{2}):([0-9a-fA-F]{2})(?:\.([0-7]))?"


def text_of(data: str | bytes, source: str) -> str:
    """The input as text without terminal codes."""
    if len(data) > LARGEST_TEXT:
        raise InputError(f"more than {LARGEST_TEXT >> 20} MiB of text", source=source, cure="is this the right file?")
    text = data if isinstance(data, str) else _decoded(data, source)
    return re.sub(_TERMINAL_CODE, "", text) if "\x1b" in text else text


def _decoded(data: bytes, source: str) -> str:
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        message = f"byte 0x{data[error.start]:02x} is not UTF-8 text"
        raise InputError(message, source=source, line=line, cure="save the file as UTF-8") from None


def whole_number(text: str, largest: int = LARGEST_ID) -> int | None:
    """A decimal number from 0 to `largest`; None for anything else."""
    if not (text.isascii() and text.isdigit()) or len(text) > 20:
        return None
    number = int(text)
    return number if number <= largest else None


def id_mask(text: str, source: str, line: int | None = None) -> int:
    """The set that a list such as `0-13,28` names."""
    try:
        return parse_cpuset("".join(text.split()))
    except KubeletError as error:
        raise InputError(
            f'"{text.strip()[:60]}" is not a list of ids: {str(error)[:120]}',
            source=source,
            line=line,
            cure="write it like 0-13,28",
        ) from None


def pci_address(text: str) -> str | None:
    """`0000:3b:00.0`, as /sys writes it, whichever way the tool writes it; None when it is none."""
    match = re.fullmatch(_PCI_ADDRESS, text.strip(), re.ASCII)
    if match is None:
        return None
    domain, bus, device, function = match.groups()
    return f"{int(domain or '0', 16):04x}:{bus.lower()}:{device.lower()}.{function or '0'}"
