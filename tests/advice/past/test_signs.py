"""What lines tell, in other styles than klog's own."""

import json
from io import BytesIO

import pytest

from numafit.advice.past.signs import node_name, read_signs
from numafit.errors import InputError
from tests.advice.past.pasts import VERSION, come, kubelet


def entry(message: str, **values: object) -> str:
    return json.dumps(
        {"ts": 1723731893410.301, "caller": "kubelet/kubelet.go:1", "msg": message, "v": 2, **values},
        separators=(",", ":"),
    )


def kinds(text: str) -> list[list[str]]:
    log = read_signs(BytesIO(text.encode() + b"\n"), "log")
    return [[sign.kind for sign in signs] for signs in log.kubelets]


def test_json_tells_the_same() -> None:
    """There a process has no number: its banner alone tells of a start."""
    pods = [{"name": "a", "namespace": "default"}]
    lines = [
        entry("Kubelet version", kubeletVersion="v1.33.1"),
        entry("SyncLoop ADD", source="api", pods=pods),
        entry("Got registration request from device plugin with resource", resourceName="lab.io/gpu"),
        entry("Kubelet version", kubeletVersion="v1.33.1"),
    ]
    log = read_signs(BytesIO("\n".join(lines).encode()), "log")
    assert [[sign.kind for sign in signs] for signs in log.kubelets] == [["start", "come", "register"], ["start"]]
    assert (log.kubelets[0][1].pods, log.release) == ((("default/a", ""),), "v1.33.1")


def test_lines_out_of_journald_tell_the_same() -> None:
    lines = [f"Aug 15 22:24:53 n1 kubelet[7]: {line}" for line in kubelet(VERSION, come("a"))]
    assert kinds("\n".join(lines)) == [["start", "come"]]


def test_two_processes_are_two_kubelets_even_without_a_banner() -> None:
    first, second = kubelet(come("a")), kubelet(come("a"), process=8)
    assert kinds("\n".join([*first, *second, *first])) == [["come"], ["come", "come"]]


@pytest.mark.parametrize("text", ['{"NodeName":"n1","X":1}', "{NodeName:n1 X:1}", "{Other:1 NodeName:n1}"])
def test_the_name_of_the_node_stands_in_its_configuration(text: str) -> None:
    """JSON in 1.36, Go's text before."""
    assert node_name(text) == "n1"


def test_a_text_that_is_no_log_is_refused() -> None:
    with pytest.raises(InputError, match="no line of a kubelet"):
        read_signs(BytesIO(b"hello\n"), "log")
