"""A folder of `numafit node pull`, or the same in memory for `--node`: what in it is what."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import msgspec

from numafit.cli.files import read_bytes
from numafit.cluster.case.case import CLAIMS, KUBELET, MACHINE, NODE, PODS, PUBLISHED, TOPOLOGY
from numafit.errors import InputError
from numafit.machine.source import Source
from numafit.notes import Note

if TYPE_CHECKING:
    from numafit.cluster.topology.model import NodeTopology

UNUSED = "topology-not-used"


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
    published: "NodeTopology | None" = None
    """What numafit's agent on the node tells of it."""
    claims: Path | None = None
    """Resource claims of its pods, and the slices of its devices."""
    given_machine: bool = False
    """A person put the machine there."""

    def machine_source(self) -> Source:
        """Raises InputError where nobody tells the machine."""
        # Needed for these folders only, as below: a command starts quicker without it.
        from numafit.machine.read.recognise import source_of

        if self.published is not None and not self.given_machine:
            from numafit.cluster.topology.compare import machine_source

            return machine_source(self.published)
        if self.machine is None:
            raise InputError(
                f"the machine of node {self.name} is not known: the cluster tells no NodeResourceTopology of it",
                cure="give it with --machine (`numafit machine capture` on the node makes a file), ask numafit's agent "
                "there with --agent, or let it or a topology updater publish what it knows",
            )
        return source_of(read_bytes(self.machine), str(self.machine))

    @property
    def kubelet_told(self) -> Path | None:
        """By the kubelet itself, else by the agent beside it."""
        if self.kubelet is not None or self.published is None:
            return self.kubelet
        from numafit.cli.held import HeldPath
        from numafit.cluster.topology.restore import kubelet_text

        return HeldPath.file(f"NodeTopology {self.name}: status.kubelet", kubelet_text(self.published).encode())


def case_parts(folder: Path) -> CaseParts:
    from numafit.cluster.case.folder import read_about

    about = read_about(folder)
    if not (folder / NODE).is_file():
        raise InputError(f"there is no {NODE} in it", source=str(folder), cure="pull the node again")
    # What a person put there counts before what the cluster tells.
    given = _there(folder / MACHINE)
    machine = given or _there(folder / TOPOLOGY)
    published, notes = _published(folder / PUBLISHED, about.node)
    return CaseParts(
        about.node,
        folder / NODE,
        _there(folder / KUBELET),
        _pods(folder / PODS),
        machine,
        (*_still_open(about.notes, known=published is not None), *notes),
        published,
        _there(folder / CLAIMS),
        given is not None,
    )


def _still_open(notes: tuple[Note, ...], *, known: bool) -> tuple[Note, ...]:
    """What the cluster did not tell, and the agent does not tell either."""
    return tuple(note for note in notes if not (known and note.about in ("kubelet", "machine")))


def _published(path: Path, node: str) -> tuple["NodeTopology | None", tuple[Note, ...]]:
    """With why it is not used: a command goes on with what else the cluster tells."""
    if not path.is_file():
        return None, ()
    from numafit.cluster.topology.read import read_topology
    from numafit.cluster.topology.restore import stage_of

    try:
        topology = read_topology(read_bytes(path), str(path))
        if topology.name != node:
            raise InputError(f"tells of the node {topology.name}, not of {node}", source=str(path))
        # What cannot be restored is found here, and not in the middle of an answer.
        stage_of(topology, source=str(path))
    except InputError as error:
        return None, (Note(UNUSED, "node", f"its NodeTopology is not used: {error}"),)
    return topology, ()


def _there(path: Path) -> Path | None:
    return path if path.is_file() else None


def _pods(path: Path) -> Path | None:
    try:
        listed = msgspec.json.decode(read_bytes(path), type=_PodList) if path.is_file() else None
    except (msgspec.MsgspecError, UnicodeError, RecursionError):
        # Its reader says what is wrong with it.
        return path
    return path if listed is not None and listed.items else None
