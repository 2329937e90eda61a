"""Some fields changed in a configuration."""

import pytest

from numafit.cluster.switch.edit import with_changes
from numafit.document import read_documents
from numafit.errors import InputError

OLD = "kind: KubeletConfiguration\ncpuManagerPolicy: none  # for now\nkubeReserved:\n  cpu: 500m\n"


@pytest.mark.parametrize(
    ("change", "field", "value"),
    [
        ("cpuManagerPolicy=static", "cpuManagerPolicy", "static"),
        ("maxPods=64", "maxPods", 64),
        ("reservedSystemCPUs=0-3", "reservedSystemCPUs", "0-3"),
        ("kubeReserved.cpu=1", "kubeReserved", {"cpu": "1"}),
        ("kubeReserved.memory=1Gi", "kubeReserved", {"cpu": "500m", "memory": "1Gi"}),
        ("cpuManagerPolicyOptions.full-pcpus-only=true", "cpuManagerPolicyOptions", {"full-pcpus-only": "true"}),
        ("featureGates.CPUManagerPolicyAlphaOptions=true", "featureGates", {"CPUManagerPolicyAlphaOptions": True}),
        (
            'reservedMemory=[{"numaNode":0,"limits":{"memory":"1Gi"}}]',
            "reservedMemory",
            [{"numaNode": 0, "limits": {"memory": "1Gi"}}],
        ),
        ("cpuManagerPolicy=", "cpuManagerPolicy", None),
    ],
)
def test_a_field_gets_the_value_that_the_kubelet_wants(change: str, field: str, value: object) -> None:
    (document,) = read_documents(with_changes(OLD, "config.yaml", [change]))
    assert isinstance(document.value, dict)
    assert document.value.get(field) == value
    assert document.value["kind"] == "KubeletConfiguration"


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        ("static", "is not FIELD=VALUE"),
        ("=static", "is not FIELD=VALUE"),
        ("reservedMemory=[{", "is no JSON"),
        ("cpuManagerPolicy.x=1", "has no entries"),
        ("cpuManagerPolcy=static", "no kubelet knows this field"),
        ("kubeReservd.cpu=1", "no kubelet knows this field"),
    ],
)
def test_what_is_no_change_is_refused(change: str, sentence: str) -> None:
    with pytest.raises(InputError, match=sentence):
        with_changes(OLD, "config.yaml", [change])


def test_a_field_that_no_kubelet_knows_can_be_taken_out() -> None:
    assert "cpuManagerPolcy" not in with_changes(OLD + "cpuManagerPolcy: static\n", "config.yaml", ["cpuManagerPolcy="])
