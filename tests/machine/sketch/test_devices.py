"""`--device`: devices in words."""

import pytest

from numafit.errors import InputError
from numafit.machine.model import Device
from numafit.machine.sketch.devices import parse_devices


def test_a_device_is_on_a_node_on_several_or_on_none() -> None:
    """In the order given; blanks around an id are none of its own."""
    assert parse_devices(["lab.io/gpu=g1@1, g0@0+1,g2", "lab.io/nic=n0@12"]) == (
        Device("lab.io/gpu", "g1", (1,)),
        Device("lab.io/gpu", "g0", (0, 1)),
        Device("lab.io/gpu", "g2", None),
        Device("lab.io/nic", "n0", (12,)),
    )


def test_a_resource_may_be_given_in_parts() -> None:
    assert parse_devices(["lab.io/gpu=g0@0", "lab.io/gpu=g1@1"]) == parse_devices(["lab.io/gpu=g0@0,g1@1"])


@pytest.mark.parametrize(
    ("spec", "message"),
    [
        ("gpu=g0@0", "is not RESOURCE=ID@NUMA,…"),
        ("lab.io/gpu", "is not RESOURCE=ID@NUMA,…"),
        ("lab.io/gpu=", "is not RESOURCE=ID@NUMA,…"),
        ("lab.io/gpu=g0@", '"g0@" is not ID or ID@NUMA'),
        ("lab.io/gpu=g0@-1", '"g0@-1" is not ID or ID@NUMA'),
        ("lab.io/gpu=g0,,g1", '"" is not ID or ID@NUMA'),
        ("lab.io/gpu=g0@0,g0@1", '"g0" is named twice'),
    ],
)
def test_other_words_are_refused(spec: str, message: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_devices([spec])
    assert (refused.value.source, refused.value.message) == ("--device", message)
