"""What was seen of a cluster at one look: the fleet, the reports it stands on, and what could not be seen."""

import msgspec

from numafit.cluster.case.case import PARTLY
from numafit.cluster.live.book import FleetBook
from numafit.cluster.live.pods import ClusterPod, PodKeeper, SentPod
from numafit.cluster.topology.model import NodeTopology
from numafit.cluster.view.rights import PODS_RIGHT, Right
from numafit.errors import InputError
from numafit.notes import Note


class ClusterView:
    """What was seen. `book`: the fleet, as a placer would have it."""

    def __init__(self) -> None:
        self.book = FleetBook()
        self.topologies: dict[str, NodeTopology] = {}
        """Those that can be used."""
        self.refused: dict[str, InputError] = {}
        """Node -> why its NodeTopology cannot be used."""
        self.missing: list[Right] = []
        self.sightless = ""
        """Why no node can be known: a right lacks, or the cluster knows no such objects."""
        self.podless = False
        """Not even the pods of one namespace may be listed."""
        self.notes: list[Note] = []
        self.keeper = PodKeeper()

    def lacks(self, right: Right, effect: str) -> None:
        self.missing.append(right)
        what = right.resource if right is not PODS_RIGHT else "pods of all namespaces"
        self.notes.append(Note(PARTLY, what, f"you may not list them: {effect}"))

    def read_pod(self, item: msgspec.Raw | bytes) -> ClusterPod | None:
        try:
            return self.keeper.kept(msgspec.json.decode(item, type=SentPod))
        except (InputError, msgspec.MsgspecError) as error:
            self.notes.append(Note(PARTLY, "pods", f"one cannot be read: {error}"))
            return None

    @property
    def unknown(self) -> tuple[str, ...]:
        """Nodes of which nothing is known: no NodeTopology, or none that can be used."""
        return tuple(sorted(self.book.nodes.keys() - self.book.fleet.nodes.keys()))
