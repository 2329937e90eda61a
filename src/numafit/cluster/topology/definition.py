"""The definition of the object, which an API server needs once."""

from collections.abc import Iterable
from importlib.resources import files

import yaml

from numafit.cluster.kube.objects import ObjectJson

FILE = "nodetopologies.yaml"


def definition() -> str:
    """YAML."""
    return files("numafit.cluster.topology").joinpath(FILE).read_text()


def with_definition(objects: Iterable[ObjectJson]) -> str:
    """YAML documents for `kubectl apply -f -`, the definition before them."""
    texts = [definition(), *(yaml.safe_dump(each, sort_keys=False) for each in objects)]
    return "---\n".join(text if text.endswith("\n") else f"{text}\n" for text in texts)
