"""Pods as they stand in recordings."""

from collections.abc import Mapping

import msgspec

from numafit.replay.inputs import RecordedPod, pod_of
from numafit.workload.pod import Pod


def pod_from_recording(recorded: Mapping[str, object]) -> Pod:
    return pod_of(msgspec.convert(recorded, RecordedPod))
