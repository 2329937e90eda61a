"""What the readers share."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.machine.model import Cpu, NumaNode
from numafit.machine.order import cpus_in_kubelet_order, in_kubelet_order
from numafit.machine.read.text import LARGEST_TEXT, id_mask, pci_address, text_of, whole_number


def test_text_is_freed_of_terminal_codes() -> None:
    """And of a byte order mark; other brackets stay."""
    assert text_of(b"\xef\xbb\xbf\x1b[4mGPU0\x1b[0m [mlx5]", "a file") == "GPU0 [mlx5]"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"a\n\xff", "a file:2: byte 0xff is not UTF-8 text (save the file as UTF-8)"),
        (b" " * (LARGEST_TEXT + 1), "a file: more than 16 MiB of text (is this the right file?)"),
    ],
)
def test_what_is_no_text_is_refused(data: bytes, message: str) -> None:
    """With the line, where there is one."""
    with pytest.raises(InputError) as error:
        text_of(data, "a file")
    assert str(error.value) == message


@given(st.text(max_size=30))
def test_a_number_is_written_in_plain_digits(text: str) -> None:
    """Python's int takes more: signs, blanks, underscores, digits of other scripts."""
    number = whole_number(text, 1000)
    assert number is None or (str(number).zfill(len(text)) == text and number <= 1000)


def test_an_id_list_may_have_blanks() -> None:
    """`lscpu` of some languages writes `0, 1`."""
    assert id_mask(" 0-2, 5", "a file") == 0b100111


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("3b:00.0", "0000:3b:00.0"),
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("00010000:E1:00.0", "10000:e1:00.0"),
        ("0009:01:00", "0009:01:00.0"),
        ("3b:00.9", None),
        ("", None),
    ],
)
def test_a_pci_address_has_one_form(text: str, address: str | None) -> None:
    """That of /sys: four digits of domain or more, lower case."""
    assert pci_address(text) == address


def test_the_kubelet_lists_directories() -> None:
    """Kubelet, all versions: node10 before node2, cpu10 before cpu9; those offline it does not see."""
    nodes = in_kubelet_order(NumaNode(id=node) for node in (2, 10, 1))
    assert [node.id for node in nodes] == [1, 10, 2]
    offline = Cpu(id=1, core=-1, socket=-1, numa=-1, online=False)
    online = [Cpu(id=cpu, core=cpu, socket=0, numa=numa) for cpu, numa in ((9, 2), (10, 2), (4, 10))]
    assert [cpu.id for cpu in cpus_in_kubelet_order([offline, *online])] == [4, 10, 9, 1]
