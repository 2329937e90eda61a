"""What the three state files share: how a file is verified, and the error of a file that is refused."""

from typing import TypeVar

import msgspec

from numafit.errors import KubeletError
from numafit.ledger.gocontainers import Record
from numafit.ledger.gotypes import dumped
from numafit.ledger.spew import checksum

S = TypeVar("S", bound=msgspec.Struct)

CORRUPTED = "checkpoint is corrupted"


class RestoreError(KubeletError):
    """The kubelet does not take the state file; the text is what it says."""


def drain_text(cause: str, owner: str, state_dir: str, file_name: str) -> str:
    return (
        f"could not restore state from checkpoint: {cause}, please drain this node and delete the {owner} manager "
        f'checkpoint file "{state_dir.rstrip("/")}/{file_name}" before restarting Kubelet'
    )


def dump_of(record: Record[S], value: S, type_name: str) -> str:
    """The hashed text of a pointer to `value`, under the type name that was in force when the file was written."""
    return dumped(record, value, pointer_to=type_name)


def matches(record: Record[S], value: S, claimed: int, *type_names: str) -> bool:
    """Whether the claimed checksum is that of `value` under one of the names; its field `checksum` is hashed as 0."""
    unsealed = msgspec.structs.replace(value, checksum=0)
    return any(checksum(dump_of(record, unsealed, name)) == claimed for name in type_names)
