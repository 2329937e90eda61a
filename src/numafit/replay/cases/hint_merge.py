"""Works out one recording of the family hint-merge: what its `expect` should say."""

from collections.abc import Mapping
from typing import Any

import msgspec

from numafit.errors import KubeletPanic, StartError
from numafit.ledger.ledger import Hint
from numafit.managers.topology.merge import Merge, merge
from numafit.managers.topology.policy import NONE, topology_policy
from numafit.replay.inputs import machine_from_recording, settings_from_recording
from numafit.settings.versions import KubeVersion

_Providers = tuple[dict[str, tuple[Hint, ...] | None] | None, ...]


def merge_case(recorded: Mapping[str, Any], version: KubeVersion) -> dict[str, Any]:
    """`Any`: `recorded` is the parsed `input` of a recording and the answer is JSON again.

    `{best, admit}`, or `{error}` when the topology manager is not made, or `{panic}` when the kubelet would panic.
    """
    settings = settings_from_recording(recorded.get("config") or {}, version)
    try:
        topology = topology_policy(settings, machine_from_recording(recorded["machine"]))
        merged = Merge((None, False), True)
        if topology.policy != NONE:
            merged = merge(
                topology.policy,
                msgspec.convert(recorded["providers"] or (), _Providers),
                topology.numa_nodes,
                behaviour=settings.behaviour,
                distances=topology.distances,
            )
    except StartError as error:
        return {"error": error.message}
    except KubeletPanic as panic:
        return {"panic": str(panic)}
    return {"best": list(merged.best), "admit": merged.admit}
