"""What `nvidia-smi -L` prints."""

import pytest
from hypothesis import given

from numafit.errors import InputError
from numafit.machine.model import Device, Machine
from numafit.machine.read.nvidia_smi import read_nvidia_list
from tests.machine.read.readers import damaged, fixture, reads_or_refuses

A100 = "NVIDIA A100-SXM4-40GB"
CUT, WHOLE = "GPU-5c89852c-d268-c3f3-1b07-005d5ae1dc3f", "GPU-77a702db-e37f-3a74-d46d-c5713f66058c"


def test_a_gpu_in_slices_is_offered_by_its_slices() -> None:
    """The plugin's mixed strategy: one resource per profile, `+` as a dot. Drivers before 470 write long UUIDs."""
    assert read_nvidia_list(fixture("nvidia-list-mig.txt")) == Machine(
        devices=(
            Device(resource="", id=CUT, kind="gpu", name=A100, label="GPU0"),
            Device(
                resource="nvidia.com/mig-3g.20gb",
                id="MIG-0d1232cd-6b4a-5b3c-9dc5-cb0dbdd0a0d5",
                kind="mig",
                name=f"{A100} MIG 3g.20gb",
                label="GPU0:0",
                parent=CUT,
            ),
            Device(
                resource="nvidia.com/mig-1g.5gb.me",
                id=f"MIG-{CUT}/7/0",
                kind="mig",
                name=f"{A100} MIG 1g.5gb+me",
                label="GPU0:1",
                parent=CUT,
            ),
            Device(resource="nvidia.com/gpu", id=WHOLE, kind="gpu", name=A100, label="GPU1"),
        )
    )


@pytest.mark.parametrize(
    "text", ["No devices found.\n", "NVIDIA-SMI has failed because it couldn't communicate with the NVIDIA driver."]
)
def test_a_machine_without_gpus_is_a_machine(text: str) -> None:
    """The tool says so; that is an answer."""
    assert read_nvidia_list(text) == Machine()


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", 'a file: no line such as "GPU 0: Tesla P100 (UUID: GPU-…)" in it'),
        ("  MIG 1g.5gb  Device  0: (UUID: MIG-1)", "a file:1: a MIG device without its GPU"),
        ("GPU 0: A (UUID: GPU-1)\nGPU 1: A (UUID: GPU-1)", "a file:2: the UUID GPU-1 stands here a second time"),
    ],
)
def test_other_text_is_refused(text: str, message: str) -> None:
    """One sentence with file and line."""
    with pytest.raises(InputError) as error:
        read_nvidia_list(text, "a file")
    assert str(error.value).startswith(message)


@given(damaged("nvidia-list-mig.txt"))
def test_any_bytes_give_a_machine_or_a_sentence(data: bytes) -> None:
    """Never a traceback."""
    reads_or_refuses(read_nvidia_list, data)
