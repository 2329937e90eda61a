"""How the object looks, how small it is, and when its digest changes."""

from importlib.resources import files

import msgspec
import pytest
import yaml
from msgspec.structs import replace

from numafit.cluster.topology.model import (
    GROUP,
    KIND,
    PLURAL,
    VERSION,
    ClaimedDevice,
    NodeTopology,
    TopologyStatus,
)
from numafit.cluster.topology.write import topology_bytes, topology_of
from numafit.notes import Note
from tests.cluster.topology.nodes import GPU, crowded, guaranteed, stage_on, with_pods_on

MOST_BYTES = 32 * 1024


def test_100_pods_on_256_cpus_with_8_gpus_are_small() -> None:
    stage = crowded()
    assert (len(stage.node.machine.cpus), len(stage.ledger.active)) == (256, 100)
    assert sum(bool(held) for held in stage.ledger.device.held.values()) == 8
    topology = topology_of("gpu-node-17.cluster.example.com", stage)
    assert all(holder.containers[0].cpus and holder.containers[0].memory for holder in topology.status.holders)
    assert len(topology_bytes(topology)) <= MOST_BYTES


def test_what_a_pod_holds_is_told_by_container() -> None:
    stage = with_pods_on(stage_on("dgx-h100"), guaranteed("u-1", 4, "8Gi", gpus=1))
    (holder,) = topology_of("n1", stage).status.holders
    assert msgspec.json.decode(msgspec.json.encode(holder)) == {
        "uid": "u-1",
        "name": "team/u-1-name",
        "containers": [
            {
                "name": "main",
                "cpus": "1-2,113-114",
                "memory": [{"numa": "0", "size": "8Gi"}],
                "devices": {GPU: ["GPU0"]},
            }
        ],
    }


def test_a_pod_that_holds_nothing_is_there_by_its_uid() -> None:
    """Whoever reads the object must know which pods it tells of."""
    stage = stage_on("laptop")
    stage = with_pods_on(stage, replace(guaranteed("u-1"), containers=()))
    (holder,) = topology_of("n1", stage).status.holders
    assert msgspec.to_builtins(holder) == {"uid": "u-1", "name": "team/u-1-name"}


def test_a_pod_that_is_gone_and_still_holds_something_is_marked() -> None:
    stage = with_pods_on(stage_on("dgx-h100"), guaranteed("u-1", 4))
    stage = replace(stage, ledger=replace(stage.ledger, active={}))
    (holder,) = topology_of("n1", stage).status.holders
    assert (holder.uid, holder.name, holder.gone) == ("u-1", "", True)


def test_the_digest_is_that_of_the_state_and_not_of_who_tells_it() -> None:
    stage = with_pods_on(stage_on("dgx-h100"), guaranteed("u-1", 4))
    first = topology_of("n1", stage)
    again = topology_of("n1", stage, notes=[Note("node-partly-known", "node", "something")])
    other = topology_of("n1", with_pods_on(stage, guaranteed("u-2", 2)))
    claimed = topology_of("n1", stage, claims={"u-1": (ClaimedDevice("c", "gpu.lab.io", "n1", "gpu-0", "0"),)})
    assert first.status.digest == again.status.digest
    assert len({first.status.digest, other.status.digest, claimed.status.digest}) == 3
    assert first.status.machine_digest == other.status.machine_digest


def test_notes_are_bounded() -> None:
    notes = [Note("node-partly-known", "node", "x" * 5000)] * 100
    status = topology_of("n1", stage_on("laptop"), notes=notes).status
    assert (len(status.notes), len(status.notes[0].text)) == (32, 500)


def definition() -> dict[str, object]:
    text = files("numafit.cluster.topology").joinpath("nodetopologies.yaml").read_text()
    found: dict[str, object] = yaml.safe_load(text)
    return found


def test_the_definition_has_the_names_of_the_model() -> None:
    spec = definition()["spec"]
    assert isinstance(spec, dict)
    names = spec["names"]
    assert (spec["group"], names["kind"], names["plural"]) == (GROUP, KIND, PLURAL)
    assert definition()["metadata"] == {"name": f"{PLURAL}.{GROUP}"}
    assert [version["name"] for version in spec["versions"]] == [VERSION]


def test_each_field_of_the_model_is_in_the_definition() -> None:
    """An API server drops the others, and the object would be refused by whoever reads it."""
    spec = definition()["spec"]
    assert isinstance(spec, dict)
    schema = spec["versions"][0]["schema"]["openAPIV3Schema"]
    (_,), components = msgspec.json.schema_components([NodeTopology])
    model = components[TopologyStatus.__name__]

    def compare(ours: dict[str, object], theirs: dict[str, object], path: str) -> None:
        ours = ours if "anyOf" not in ours else next(own for own in ours["anyOf"] if own != {"type": "null"})  # type: ignore[attr-defined]
        reference = ours.get("$ref")
        if isinstance(reference, str):
            ours = components[reference.rpartition("/")[2]]
        own, other = ours.get("properties"), theirs.get("properties")
        if isinstance(own, dict):
            assert isinstance(other, dict), path
            assert own.keys() == other.keys(), path
            for name in own:
                compare(own[name], other[name], f"{path}.{name}")
        for name in ("items", "additionalProperties"):
            mine, other_part = ours.get(name), theirs.get(name)
            if isinstance(mine, dict) and mine and isinstance(other_part, dict):
                compare(mine, other_part, f"{path}.{name}")

    compare(model, schema["properties"]["status"], "status")


@pytest.mark.parametrize("machine", ["dgx-h100", "laptop"])
def test_each_told_field_of_a_kubelet_is_in_the_definition(machine: str) -> None:
    spec = definition()["spec"]
    assert isinstance(spec, dict)
    status = spec["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["status"]
    assert (
        topology_of("n1", stage_on(machine)).status.kubelet.keys()
        <= status["properties"]["kubelet"]["properties"].keys()
    )
