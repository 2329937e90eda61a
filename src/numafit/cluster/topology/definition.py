"""The definition of the object, which an API server needs once."""

from importlib.resources import files

FILE = "nodetopologies.yaml"


def definition() -> str:
    """YAML, for `kubectl apply -f -`."""
    return files("numafit.cluster.topology").joinpath(FILE).read_text()
