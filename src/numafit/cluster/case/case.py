"""What a cluster tells of one node, as files by their names; what it did not tell is in the notes."""

from pathlib import Path

import msgspec

from numafit.notes import Note

NODE, PODS, KUBELET = "node.json", "pods.json", "kubelet.json"
"""The Node, its pods as a list, and the kubelet's answer to /configz."""
TOPOLOGY, MACHINE = "nrt.json", "machine.yaml"
"""Its NodeResourceTopology, or a description of the machine that somebody gave."""
PUBLISHED = "nodetopology.json"
"""Its NodeTopology, which numafit's agent on the node publishes."""
CLAIMS = "claims.json"
"""ResourceClaims of its pods, and the ResourceSlices of its devices."""
PARTLY = "node-partly-known"
"""The code of the notes."""
ABOUT, README = "case.json", "README.md"


class About(msgspec.Struct, frozen=True):
    """What stands beside the files: about which node, from when, and how complete they are."""

    node: str
    fetched: str
    """A moment in UTC."""
    numafit: str
    """The release that wrote it."""
    notes: tuple[Note, ...] = ()
    """What could not be had."""
    removed: dict[str, int] = {}
    """What was taken out, and how often."""


def is_case(folder: Path) -> bool:
    """Whether `numafit node pull` wrote it."""
    return (folder / ABOUT).is_file()


class NodeCase(msgspec.Struct, frozen=True):
    about: About
    files: dict[str, bytes]
    """By those of the names above that are there; NODE always is."""
