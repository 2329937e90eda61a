"""Values of the device plugin: names that the kubelet lets in, shares, devices that are lost."""

import pytest

from numafit.cluster.device.offer import require_resource_name, with_lost
from numafit.errors import InputError
from tests.cluster.device.offers import device, offer, sick


@pytest.mark.parametrize("name", ["example.com/fpga", "a/b", "nvidia.com/mig-1g.5gb", "x.y.z/A_b.C-9", "a/" + "b" * 63])
def test_a_name_with_a_domain_is_let_in(name: str) -> None:
    require_resource_name(name)


REFUSED = (
    *("", "fpga", "/fpga", "example.com/", "kubernetes.io/x", "a.kubernetes.io/x", "requests.a.com/x", "A.com/x"),
    *("a/b/c", "a b/c", "a/-b", "a/" + "b" * 64, "a" * 250 + "/b", "a/b\n"),
)


@pytest.mark.parametrize("name", REFUSED)
def test_a_name_that_the_kubelet_refuses_is_refused(name: str) -> None:
    """v1.36: a resource needs a domain that is not Kubernetes' own, and must be good behind `requests.`."""
    with pytest.raises(InputError, match="is not a name of a resource"):
        require_resource_name(name)


def test_shares_are_units_of_their_own() -> None:
    units = offer(device("a"), device("b"), replicas=2).units()
    assert [(unit, found.device.id) for unit, found in units.items()] == [
        ("a::0", "a"),
        ("a::1", "a"),
        ("b::0", "b"),
        ("b::1", "b"),
    ]


def test_what_is_lost_is_sick_and_what_comes_back_is_well() -> None:
    both = offer(device("a"), device("b"))
    lost = with_lost((both,), (offer(device("a")),))
    assert lost == (sick(both, "b"),)
    assert with_lost(lost, (both,)) == (both,)
    assert with_lost((both,), ()) == (sick(both, "a", "b"),)
    assert with_lost((), (both,)) == (both,)
