"""From bytes to an object that is whole: what is damaged, too new or changed by hand is refused with one sentence."""

import msgspec

from numafit.cluster.topology.digest import machine_digest, state_digest
from numafit.cluster.topology.model import API_VERSION, FORMAT, GROUP, KIND, LARGEST, NodeTopology
from numafit.errors import InputError

AGAIN = "numafit's agent on the node writes it anew; it is written by nobody else"
OLD_DEFINITION = f"apply the definition of {KIND} that belongs to the agent, and delete the object: it writes it anew"


class _Format(msgspec.Struct, frozen=True):
    format: int | None = None


class _Head(msgspec.Struct, frozen=True, rename="camel"):
    """What tells whether the rest can be understood."""

    api_version: str = ""
    kind: str = ""
    status: _Format = _Format()


def read_topology(data: bytes, source: str = "") -> NodeTopology:
    """Raises InputError with the field, where one is to blame."""
    source = source or KIND
    if len(data) > LARGEST:
        raise InputError(f"{len(data)} bytes are too many for one node", source=source, cure=AGAIN)
    try:
        _check_head(msgspec.json.decode(data, type=_Head), source)
        topology = msgspec.json.decode(data, type=NodeTopology)
    except (msgspec.MsgspecError, UnicodeError, RecursionError) as error:
        message, _, field = str(error).partition(" - at `$.")
        raise InputError(f"is damaged: {message}", source=source, field=field.rstrip("`"), cure=AGAIN) from None
    _check_whole(topology, source)
    return topology


def _check_head(head: _Head, source: str) -> None:
    if head.kind != KIND or head.api_version.partition("/")[0] != GROUP:
        found = f"{head.kind or 'no kind'} of {head.api_version or 'no group'}"
        raise InputError(f"is no {KIND} of {GROUP}, but {found}", source=source)
    if head.api_version != API_VERSION:
        cure = "install the release of numafit that the agent has"
        raise InputError(f"{head.api_version} is not understood, only {API_VERSION}", source=source, cure=cure)
    found_format = head.status.format
    if found_format is not None and found_format > FORMAT:
        cure = "install the release of numafit that the agent has"
        message = f"it has format {found_format}, and this numafit understands up to {FORMAT}"
        raise InputError(message, source=source, field="status.format", cure=cure)


def _check_whole(topology: NodeTopology, source: str) -> None:
    status = topology.status
    for field, told, found in (
        ("status.machineDigest", status.machine_digest, machine_digest(status.machine)),
        ("status.digest", status.digest, state_digest(status)),
    ):
        if told != found:
            message = f"was changed by others than the agent, or is damaged: it says {told[:40]}, its contents {found}"
            raise InputError(message, source=source, field=field, cure=OLD_DEFINITION)
    seen = set()
    for index, holder in enumerate(status.holders):
        if holder.uid in seen:
            field = f"status.holders[{index}].uid"
            raise InputError(f"is damaged: the pod {holder.uid[:60]} is there twice", source=source, field=field)
        seen.add(holder.uid)
