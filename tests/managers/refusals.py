"""Refusals by the kubelet's words alone; their causes are checked where stories are (tests/decision)."""

from typing import NamedTuple

from numafit.managers.protocol import Refusal


class Words(NamedTuple):
    text: str
    reason: str = ""


def words(refusal: Refusal | None) -> Words | None:
    return None if refusal is None else Words(refusal.text, refusal.reason)
