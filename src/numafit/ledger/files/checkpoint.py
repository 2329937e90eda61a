"""What the state files share: how a file is verified, and the error of a file that is refused.

Since 1.37 the files of the CPU and the memory manager are sealed twice. The fields of an older layout stand there with
their checksum, for older kubelets; the same contents and more stand in `data`, JSON inside a JSON text, with a checksum
of its own. A kubelet that knows `data` looks at nothing else.
"""

from typing import TypeVar

import msgspec

from numafit.errors import KubeletError
from numafit.golang.containers import GoField, GoStruct
from numafit.golang.spew import checksum
from numafit.golang.types import Text, Whole, dumped, unmarshal

S = TypeVar("S", bound=msgspec.Struct)

CORRUPTED = "checkpoint is corrupted"


class RestoreError(KubeletError):
    """The kubelet does not take the state file; the text is what it says."""


class RefusedError(KubeletError):
    """One attempt to read the file failed; the text is the cause that the kubelet names."""


def unreadable(text: str) -> RefusedError:
    return RefusedError(text, code="restore-json")


def corrupted() -> RefusedError:
    return RefusedError(CORRUPTED, code="restore-corrupted")


def drain_text(cause: str, owner: str, state_dir: str, file_name: str) -> str:
    return (
        f"could not restore state from checkpoint: {cause}, please drain this node and delete the {owner} manager "
        f'checkpoint file "{state_dir.rstrip("/")}/{file_name}" before restarting Kubelet'
    )


def dump_of(record: GoStruct[S], value: S, type_name: str) -> str:
    """The hashed text of a pointer to `value`, under the type name that was in force when the file was written."""
    return dumped(record, value, pointer_to=type_name)


def matches(record: GoStruct[S], value: S, claimed: int, *type_names: str) -> bool:
    """Whether the claimed checksum is that of `value` under one of the names; its field `checksum` is hashed as 0."""
    unsealed = msgspec.structs.replace(value, checksum=0)
    return any(checksum(dump_of(record, unsealed, name)) == claimed for name in type_names)


class WithData(msgspec.Struct, frozen=True, kw_only=True):
    """The contents of a file that may hold `data`."""

    data: str = ""
    data_checksum: int = 0


D = TypeVar("D", bound=WithData)

SUM = Whole("checksum.Checksum", 64, signed=False)
DATA = GoField("Data", "data", "data", Text())
DATA_SUM = GoField("DataChecksum", "dataChecksum", "data_checksum", SUM)


def with_data(inner: GoStruct[D], contents: D) -> D:
    data = inner.encode(contents)
    return msgspec.structs.replace(contents, data=data, data_checksum=_data_checksum(data))


def _data_checksum(data: str) -> int:
    return checksum(dumped(Text(), data))


def read_data(blob: str | bytes, outer: GoStruct[D], inner: GoStruct[D], empty: D, owner: str, layout: str) -> D | None:
    """The contents of `data`; None when the file has none and is to be read in an older layout (1.37)."""
    sealed, error = unmarshal(blob, outer, empty)
    if error:
        refusal = unreadable(f"failed to deserialize {owner} manager checkpoint: {error}")
    else:
        contents, error = unmarshal(sealed.data, inner, empty)
        if error:
            refusal = unreadable(f"failed to deserialize {owner} manager checkpoint data: {error}")
        elif _data_checksum(sealed.data) != sealed.data_checksum:
            refusal = corrupted()
        else:
            return contents
    if sealed.data or sealed.data_checksum:
        raise RefusedError(f"could not load {layout} checkpoint: {refusal}", cause=refusal)
    return None
