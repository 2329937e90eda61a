"""A folder of `numafit node pull`, or the same in memory for `--node`: what in it is what."""

from pathlib import Path
from typing import NamedTuple

import msgspec

from numafit.cli.files import read_bytes
from numafit.cluster.case.case import KUBELET, MACHINE, NODE, PODS, TOPOLOGY
from numafit.errors import InputError
from numafit.machine.source import Source
from numafit.notes import Note


class _PodList(msgspec.Struct):
    items: list[msgspec.Raw]


class CaseParts(NamedTuple):
    name: str
    """Of the node."""
    node: Path
    kubelet: Path | None
    pods: Path | None
    """None also for a node without pods."""
    machine: Path | None
    notes: tuple[Note, ...]
    """What the cluster did not tell."""

    def machine_source(self) -> Source:
        """Raises InputError where nobody tells the machine."""
        # Needed for these folders only, as below: a command starts quicker without it.
        from numafit.machine.read.recognise import source_of

        if self.machine is None:
            raise InputError(
                f"the machine of node {self.name} is not known: the cluster tells no NodeResourceTopology of it",
                cure="give it with --machine (`numafit machine capture` on the node makes a file), ask numafit's agent "
                "there with --agent, or let a topology updater publish a NodeResourceTopology",
            )
        return source_of(read_bytes(self.machine), str(self.machine))


def case_parts(folder: Path) -> CaseParts:
    from numafit.cluster.case.folder import read_about

    about = read_about(folder)
    if not (folder / NODE).is_file():
        raise InputError(f"there is no {NODE} in it", source=str(folder), cure="pull the node again")
    # What a person put there counts before what the cluster tells.
    machine = _there(folder / MACHINE) or _there(folder / TOPOLOGY)
    return CaseParts(about.node, folder / NODE, _there(folder / KUBELET), _pods(folder / PODS), machine, about.notes)


def _there(path: Path) -> Path | None:
    return path if path.is_file() else None


def _pods(path: Path) -> Path | None:
    try:
        listed = msgspec.json.decode(read_bytes(path), type=_PodList) if path.is_file() else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # Its reader says what is wrong with it.
        return path
    return path if listed is not None and listed.items else None
