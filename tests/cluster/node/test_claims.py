import asyncio
import json
from typing import Any

import msgspec

from numafit.cluster.node.claims import ClaimReader
from numafit.cluster.node.pods import NodePod
from numafit.machine.model import Machine
from tests.cluster.node.fakes import RUNNING, FakeApi, pod_object

GROUP = "/apis/resource.k8s.io"
CLAIM = {
    "metadata": {"name": "made", "namespace": "team"},
    "status": {
        "reservedFor": [{"resource": "pods", "name": "p", "uid": "u"}],
        "allocation": {"devices": {"results": [{"driver": "gpu.example.com", "pool": "n1", "device": "gpu-0"}]}},
    },
}
SLICE = {
    "metadata": {"name": "n1-gpu"},
    "spec": {
        "driver": "gpu.example.com",
        "pool": {"name": "n1"},
        "devices": [{"name": "gpu-0", "attributes": {"resource.kubernetes.io/numaNode": {"int": 1}}}],
    },
}


def claiming() -> NodePod:
    content = pod_object(
        "p", "u", status={**RUNNING, "resourceClaimStatuses": [{"name": "g", "resourceClaimName": "made"}]}
    )
    content["spec"]["resourceClaims"] = [{"name": "g", "resourceClaimTemplateName": "gpu"}]
    return msgspec.json.decode(json.dumps(content), type=NodePod)


def read(reader: ClaimReader, *pods: NodePod) -> Any:
    return asyncio.run(reader.read(pods, Machine()))


def test_devices_of_claims_are_told_with_their_numa_node() -> None:
    """By the first version that the server knows, and asked for once."""
    api = FakeApi()
    api.objects = {
        f"{GROUP}/v1beta2/resourceslices": {"items": [SLICE]},
        f"{GROUP}/v1beta2/namespaces/team/resourceclaims/made": CLAIM,
    }
    reader = ClaimReader(api, "n1")
    for _ in range(3):
        (device,) = read(reader, claiming())["u"]
        assert (device.claim, device.device, device.numa) == ("made", "gpu-0", "1")
    assert api.asked[f"GET {GROUP}/v1beta2/resourceslices"] == 1
    assert read(reader) == {}


def test_without_claims_nothing_is_asked() -> None:
    api = FakeApi()
    plain = msgspec.json.decode(json.dumps(pod_object("p", "u")), type=NodePod)
    assert read(ClaimReader(api, "n1"), plain) == {}
    assert not api.asked


def test_a_right_that_is_lacking_is_told() -> None:
    api = FakeApi()
    api.forbidden = {f"{GROUP}/v1/resourceslices"}
    reader = ClaimReader(api, "n1")
    assert read(reader, claiming()) == {}
    assert "are not known: is forbidden" in reader.notes[0].text
