"""The graph for Graphviz."""

import re
import shutil
import subprocess

import pytest
from hypothesis import given

from numafit.machine.catalogue.names import machine_named
from numafit.machine.model import Device, Machine
from numafit.show.draw.dot import draw_dot
from tests.machine.strategies import any_machines
from tests.show.draw.boxes import few


@few
@given(machine=any_machines())
def test_quotes_and_braces_are_balanced(machine: Machine) -> None:
    """Names from a file may hold quotes and backslashes."""
    bare = re.sub(r'"(?:[^"\\]|\\.)*"', "", draw_dot(machine))
    assert '"' not in bare
    assert bare.count("{") == bare.count("}")


def test_equal_nvlinks_meet_in_one_point() -> None:
    """Eight edges, not 28."""
    assert draw_dot(machine_named("dgx-h100")).count("-- nvlink0") == 8


def test_links_that_follow_from_the_place_are_not_drawn() -> None:
    """SYS and NODE would hide the rest; PIX is the switch."""
    text = draw_dot(machine_named("gpu8-128cpu"))
    assert not any(f'label="{kind}"' in text for kind in ("SYS", "NODE", "PIX"))
    assert text.count('label="PCIe switch"') == 4


@pytest.mark.skipif(shutil.which("dot") is None, reason="Graphviz is not installed")
def test_graphviz_takes_it() -> None:
    """With odd names too."""
    odd = Machine(devices=(Device("", 'a"b\\', None), Device("", "c\nd", None)), name="{x}")
    for machine in (odd, machine_named("dgx-a100")):
        done = subprocess.run(["dot", "-Tplain"], input=draw_dot(machine).encode(), capture_output=True, check=False)
        assert done.returncode == 0, done.stderr
