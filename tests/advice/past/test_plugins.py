"""Plugins in a log, which has numbers and no ids."""

import pytest

from numafit.advice.past.plugins import LoggedPlugins
from tests.advice.logs.log_text import klog
from tests.advice.past.pasts import VERSION, come, devices, happened, kubelet, lists, past, pod, registers, texts

GPUS = devices("lab.io/gpu=g0@0,g1@1")


@pytest.mark.parametrize(
    ("numbers", "expected"),
    [
        ((2, 2), []),
        ((2, 0), ["devices lab.io/gpu !g0@0,!g1@1"]),
        ((0, 0), ["devices lab.io/gpu"]),
        ((2, 1), []),
        ((3, 3), []),
    ],
)
def test_a_list_is_known_where_all_or_none_are_healthy(numbers: tuple[int, int], expected: list[str]) -> None:
    lines = kubelet(VERSION, registers(), lists(2, 2), come("a"), lists(*numbers))
    assert happened(lines, pod("a"), offered=GPUS)[1:] == expected


def test_which_of_them_are_healthy_cannot_be_told() -> None:
    lines = kubelet(VERSION, registers(), come("a"), lists(2, 1))
    ((about, text),) = texts(past(lines, pod("a"), offered=GPUS))
    assert about == "lab.io/gpu"
    assert text.endswith(
        "1 of 2 devices of lab.io/gpu are healthy, and the log does not tell which; the list stays as it was"
    )


def test_devices_that_nobody_gave_are_noted_once() -> None:
    lines = kubelet(VERSION, registers(), lists(4, 4), come("a"), registers())
    text = "a plugin registered, and the log does not tell its devices; give them with --device"
    assert texts(past(lines, pod("a"))) == [("lab.io/gpu", text)]


def test_connections_that_end_with_the_kubelet_are_no_end_of_plugins() -> None:
    ended = '"Endpoint became unhealthy" resourceName="lab.io/gpu" endpoint="x"'
    first = kubelet(VERSION, registers(), come("a"), ended)
    assert happened(first, pod("a"), offered=GPUS)[1:] == ["plugin-stop lab.io/gpu"]
    second = kubelet(VERSION, registers(), come("a"), process=8)
    assert happened([*first, *second], pod("a"), offered=GPUS)[1:] == ["restart"]


def test_a_node_without_devices_starts_with_all_its_plugins() -> None:
    assert LoggedPlugins({}).at_start(set(), set()) == ("first", [])


def test_a_plugin_that_is_away_for_five_minutes_is_forgotten() -> None:
    """1.20 to 1.37: since it ended, or since a kubelet started to which it did not come."""
    ended = '"Endpoint became unhealthy" resourceName="lab.io/gpu" endpoint="x"'
    lines = kubelet(VERSION, registers(), come("a"), ended, come("b"))
    late = klog(come("c"), float(7 * 100 + 400), 7)
    expected = ["plugin-stop lab.io/gpu", "add default/b", "plugin-forget lab.io/gpu", "add default/c"]
    assert happened([*lines, late], pod("a"), pod("b"), pod("c"), offered=GPUS)[1:] == expected
    second = [*kubelet(VERSION, come("a"), process=8), klog(come("c"), float(8 * 100 + 400), 8)]
    found = happened([*lines[:3], *second], pod("a"), pod("c"), offered=GPUS)
    assert found[1:] == ["restart plugins=never", "plugin-forget lab.io/gpu", "add default/c"]
