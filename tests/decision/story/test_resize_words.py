"""The words for resizes."""

import pytest

from numafit.decision.decision import ResizeRefused
from numafit.decision.resize import request, verdict
from numafit.decision.story.claims import ResizeAllocated, ResizePutOff, Untold
from numafit.decision.story.resize_words import RESIZE_CODES
from numafit.decision.story.words import cause_in_words


def test_each_code_has_its_sentence() -> None:
    """Those of the API server and of the kubelet."""
    codes = {
        request.NO_RESIZE,
        request.STATIC_POD,
        request.QOS,
        request.ABOVE_LIMIT,
        request.MEMORY_LIMIT,
        request.OTHER_RESOURCE,
        request.INIT_CONTAINER,
        request.POD_LEVEL,
        request.NODE_TOO_SMALL,
        verdict.STATIC_CPU,
        verdict.STATIC_MEMORY,
    }
    assert codes == RESIZE_CODES


@pytest.mark.parametrize(
    ("cause", "words"),
    [
        (
            ResizeRefused("no-resize", {"gate": ""}),
            "No running pod gets other resources here: this release cannot do it.",
        ),
        (
            ResizeRefused("no-resize", {"gate": "InPlacePodVerticalScaling"}),
            "No running pod gets other resources here, because InPlacePodVerticalScaling is off.",
        ),
        (
            ResizeRefused("qos", {"was": "Burstable", "would": "Guaranteed"}),
            "The pod is Burstable and would become Guaranteed; a resize may not change that.",
        ),
        (
            ResizeRefused("node-too-small", {"resource": "cpu", "asked": 30000, "capacity": 15000}),
            "The node has 15 CPUs for pods altogether, and the pod would ask for 30 CPUs.",
        ),
        (ResizeAllocated({"memory": 1 << 30}), "Allocated: from now on the pod counts with 1Gi."),
        (ResizeAllocated({}), "Allocated: the pod asks for neither CPUs nor memory as a whole."),
        (
            ResizeAllocated({"cpu": 500}, reverted=True),
            "The pod has 500m CPUs already, and so what was asked for before is given up.",
        ),
    ],
)
def test_what_a_cause_reads_like(cause: ResizeRefused | ResizeAllocated, words: str) -> None:
    assert cause_in_words(cause) == words


def test_what_is_put_off_says_what_happens_next() -> None:
    assert cause_in_words(ResizePutOff(Untold())).endswith(
        "The pod runs on as it was, and the resize is tried again when something frees."
    )
