"""What an agent tells of its node and others tell otherwise: noted, and the agent is believed, who was there."""

from collections.abc import Iterator

from numafit.cluster.topology.model import KIND, NodeTopology
from numafit.cluster.topology.restore import config_of, machine_of
from numafit.cluster.topology.write import kubelet_fields
from numafit.errors import some_of
from numafit.machine.combine.machine import combine
from numafit.machine.source import FILE, Source
from numafit.notes import Note
from numafit.settings.config import KubeletConfig

DIFFERS = "kubelet-disagrees"
MOST_FIELDS = 4


def kubelet_disagreements(topology: NodeTopology, answered: KubeletConfig) -> Iterator[Note]:
    """`answered`: what the kubelet itself told of its configuration."""
    ours, theirs = kubelet_fields(config_of(topology)), kubelet_fields(answered)
    names = sorted(name for name in ours | theirs if ours.get(name) != theirs.get(name))
    if names:
        text = f"its {KIND} is believed, and it answers with another {some_of(names, MOST_FIELDS)}"
        yield Note(DIFFERS, "kubelet", text)


def machine_source(topology: NodeTopology) -> Source:
    return Source(f"{KIND} {topology.name}", machine_of(topology), FILE)


def machine_disagreements(topology: NodeTopology, other: Source) -> tuple[Note, ...]:
    """`other`: what somebody else publishes about the machine."""
    return combine([machine_source(topology), other]).notes
