"""`--allocatable` and what the Node object tells: facts about a node that no machine shows."""

from collections.abc import Sequence
from pathlib import Path

from msgspec.structs import replace

from numafit.cli.files import read_bytes
from numafit.errors import InputError
from numafit.machine.model import Machine
from numafit.quantity import QuantityError, quantity_of
from numafit.settings.facts import NodeFacts, is_offer
from numafit.workload.pod import STORAGE

# Read by code that most commands do without: they start quicker.


def is_node(path: Path) -> bool:
    from numafit.settings.node_object import holds_node

    return holds_node(read_bytes(path))


def node_among(paths: Sequence[Path], name: str) -> Path | None:
    """The file of manifests in which a Node stands: the only one of all, or the only one of this name."""
    found: list[Path] = []
    for path in paths:
        if str(path) == "-" or not path.is_file():
            continue
        data = read_bytes(path)
        if b"Node" in data:
            from numafit.settings.node_object import names_among

            found += [path for node in names_among(data) if name in ("", node)]
    return found[0] if len(found) == 1 else None


def facts_told(facts: NodeFacts, offers: Sequence[str], machine: Machine) -> NodeFacts:
    """`offers` are typed as RESOURCE=AMOUNT, and count before what was told; devices of the machine, before both."""
    if not facts.offers and not offers:
        return facts
    listed = {device.resource for device in machine.devices}
    found = {name: amount for name, amount in facts.offers.items() if name not in listed}
    for text in offers:
        name, _, amount = text.partition("=")
        source = f"--allocatable {text}"
        if not name or not amount:
            raise InputError("is not RESOURCE=AMOUNT", source=source, cure="write it like ephemeral-storage=100Gi")
        if not is_offer(name) or name in listed:
            teller = "the devices of the machine tell" if name in listed else "machine and configuration tell"
            raise InputError(f"{teller} what there is of {name}", source=source, cure="leave it out")
        if "/" not in name and name != STORAGE:
            cure = f"write {STORAGE}, or a name with a domain like lab.io/thing"
            raise InputError(f"no node offers {name}", source=source, cure=cure)
        try:
            found[name] = quantity_of(amount)
            if found[name].sign < 0:
                raise InputError(f"{amount} is less than nothing", source=source, cure="write it like 2, 500m or 16Gi")
        except QuantityError as error:
            cure = "write it like 2, 500m or 16Gi"
            raise InputError(f'"{amount}" is not a quantity: {error}', source=source, cure=cure) from None
    return replace(facts, offers=found)
