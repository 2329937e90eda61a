"""Device plugins as the device manager meets them."""

import pytest

from numafit.ledger.files.allocate_response import nvidia_response
from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Device, Machine
from numafit.managers.device.plugin import Plugin, PluginError, Preference, plugins_of

FREE = frozenset({"a", "b", "c", "d"})


@pytest.mark.parametrize(
    ("preference", "must_include", "size", "expected"),
    [
        ("first", (), 2, ("a", "b")),
        ("first", ("c",), 2, ("c", "a")),
        ("last", (), 2, ("d", "c")),
        ("last", ("a", "b"), 3, ("a", "b", "d")),
        ("short", (), 3, ("a", "b")),
        ("short", (), 1, ("a",)),
    ],
)
def test_a_plugin_answers_what_must_be_in_it_and_then_its_favourites(
    preference: Preference, must_include: tuple[str, ...], size: int, expected: tuple[str, ...]
) -> None:
    """`short` gives one too few, if that leaves any: the kubelet has to fill up."""
    assert next(Plugin(preference).answers(FREE, frozenset(must_include), size)) == expected


def test_a_plugin_may_refuse_to_say_what_it_prefers() -> None:
    """The text is the plugin's own; the kubelet wraps it."""
    with pytest.raises(PluginError, match=r"^preferred allocation refused$"):
        next(Plugin("error").answers(FREE, frozenset(), 1))


def test_a_plugin_answers_an_allocation_or_fails() -> None:
    """An empty response is a valid one; that of NVIDIA's plugin names the devices and their nodes."""
    ids = frozenset({"GPU0"})
    assert Plugin().allocate(ids) == b""
    assert Plugin(response="nvidia", minors={"GPU0": 3}).allocate(ids) == nvidia_response(ids, {"GPU0": 3})
    with pytest.raises(PluginError, match=r"^out of order$"):
        Plugin(allocate_error="out of order").allocate(ids)


def test_the_plugin_of_nvidia_prefers_near_gpus() -> None:
    """Two of the three P100 of the field report share a NUMA node (k8s-device-plugin 0.20)."""
    plugin = plugins_of(machine_named("p100-28cpu"))["nvidia.com/gpu"]
    zero, one, two = plugin.minors
    assert next(plugin.answers(frozenset({zero, one, two}), frozenset(), 2)) == (one, two)
    assert next(plugin.answers(frozenset({zero, one, two}), frozenset({zero}), 2)) == (zero, one)


def test_other_plugins_prefer_nothing() -> None:
    machine = Machine(devices=(Device("lab.io/nic", "n0", (0,)), Device("", "disk")))
    assert plugins_of(machine) == {"lab.io/nic": Plugin()}
