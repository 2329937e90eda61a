"""Devices that a file lists."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.cluster.device.answers import allocated, device_list
from numafit.cluster.device.offer import GivenMount, GivenNode, Handout, OfferedDevice, ResourceOffer
from numafit.cluster.device.source.file import ListedDevices, read_offers
from numafit.cluster.wire.device_plugin_pb2 import AllocateRequest, ContainerAllocateRequest
from numafit.errors import InputError
from numafit.machine.model import Device, Link

FPGA = "example.com/fpga"
TEXT = """\
format: numafit/devices/v1
resources:
  - name: example.com/fpga
    preStart: [/bin/reset, --hard]
    devices:
      - id: f0
        numa: [0]
        envs: {FPGA: f0}
        nodes: [{hostPath: /dev/fpga0}]
        mounts: [{hostPath: /opt/fpga, containerPath: /fpga, readOnly: true}]
        annotations: {card: left}
        cdi: [example.com/fpga=f0]
      - id: f1
        healthy: false
    links: [{a: f0, b: f1, kind: PIX}]
  - name: example.com/shared
    replicas: 4
    devices: [{id: s0, numa: []}]
"""


def test_a_file_is_read_whole() -> None:
    handout = Handout(
        {"FPGA": "f0"},
        (GivenMount("/opt/fpga", "/fpga", True),),
        (GivenNode("/dev/fpga0", "/dev/fpga0", "rw"),),
        {"card": "left"},
        ("example.com/fpga=f0",),
    )
    assert read_offers(TEXT, "f") == (
        ResourceOffer(
            FPGA,
            (
                OfferedDevice(Device(FPGA, "f0", (0,)), handout),
                OfferedDevice(Device(FPGA, "f1", None, False)),
            ),
            (Link("f0", "f1", "PIX"),),
            pre_start=("/bin/reset", "--hard"),
        ),
        ResourceOffer("example.com/shared", (OfferedDevice(Device("example.com/shared", "s0", ())),), replicas=4),
    )


def test_a_device_without_its_device_file_is_not_healthy(tmp_path: Path) -> None:
    """It was pulled, or its driver is not loaded."""
    there: set[str] = set()
    source = ListedDevices(tmp_path / "f", lambda _: TEXT, there.__contains__)

    def health() -> list[bool]:
        return [each.device.healthy for each in source.read()[0].devices]

    assert health() == [False, False]
    there.add("/dev/fpga0")
    assert health() == [True, False]


@pytest.mark.parametrize(
    ("old", "new", "said"),
    [
        ("numafit/devices/v1", "v2", 'f:1:9: format: "v2" is not a format of this file (write numafit/devices/v1)'),
        ("format: numafit/devices/v1\n", "", 'f:1:1: the field "format" is missing'),
        ("  - name: example.com/fpga\n    p", "  - p", 'resources[0]: the field "name" is missing'),
        ("name: example.com/fpga", "name: fpga", '"fpga" is not a name of a resource that devices may have'),
        ("name: example.com/shared", "name: example.com/fpga", "example.com/fpga is listed twice"),
        ("id: f1", "id: f0", 'the device "f0" is listed twice'),
        ("id: f1", "id: 1", "a text is needed here, not 1 (put it in quotes)"),
        ("id: f1", 'id: ""', "an id cannot be empty"),
        ("numa: [0]", "numa: [-1]", "-1 is out of range"),
        ("FPGA: f0", "FPGA: 0", "a text is needed here (put it in quotes)"),
        ("hostPath: /dev/fpga0", "hostPath: fpga0", '"fpga0" is not a whole path (begin it with /)'),
        ("hostPath: /dev/fpga0", "hostPath: /d, permissions: rx", '"rx" are no permissions (some of r, w and m)'),
        ("hostPath: /dev/fpga0", "containerPath: /d", 'the field "hostPath" is missing'),
        ("example.com/fpga=f0", "f0", '"f0" is no CDI name (like vendor.com/class=name)'),
        ("b: f1", "b: f2", 'there is no device "f2"'),
        ("b: f1", "b: f0", "each pair of two devices has one link"),
        ("replicas: 4", "replicas: 0", "0 is out of range (1 to 1000)"),
        ("healthy: false", "health: bad", 'there is no field "health" (did you mean healthy?)'),
        ("[/bin/reset, --hard]", "/bin/reset", "a list is needed here"),
        ("[/bin/reset, --hard]", "[1]", "a text is needed here"),
    ],
)
def test_a_mistake_has_its_place(old: str, new: str, said: str) -> None:
    assert old in TEXT
    with pytest.raises(InputError) as found:
        read_offers(TEXT.replace(old, new, 1), "f")
    assert said in str(found.value)
    assert str(found.value).startswith("f:")


def test_a_file_without_resources_is_refused() -> None:
    with pytest.raises(InputError, match="no resource is listed"):
        read_offers("format: numafit/devices/v1\n", "f")


@given(
    st.integers(0, len(TEXT)),
    st.integers(0, 40),
    st.sampled_from(["", "-1", "9" * 30, "{}", "[[", "null", "~", "\n", "x: ", "&a", "\x00", "- "])
    | st.text(max_size=5),
)
def test_a_damaged_file_is_read_or_refused_with_its_place(start: int, cut: int, put: str) -> None:
    """One sentence that names the file, whatever is in it."""
    offers, refusal = (), "f"
    try:
        offers = read_offers(TEXT[:start] + put + TEXT[start + cut :], "f")
    except InputError as error:
        refusal = str(error)
    assert refusal.startswith("f")
    for offer in offers:
        device_list(offer)
        every = AllocateRequest(container_requests=[ContainerAllocateRequest(devices_ids=offer.units())])
        if all(each.device.healthy for each in offer.devices):
            allocated(offer, every)


def test_the_file_of_the_page_is_read() -> None:
    """As it stands in docs/device-plugin.md."""
    page = (Path(__file__).resolve().parents[4] / "docs/device-plugin.md").read_text()
    text = page.partition("```yaml\n")[2].partition("```")[0]
    assert [offer.resource for offer in read_offers(text, "page")] == [FPGA, "example.com/codec"]
