"""A comparison as JSON: each pod under both kubelets, then the settings and rules that differ."""

from numafit.advice.compare import Comparison
from numafit.decision.decision import Decision


def comparison_record(comparison: Comparison) -> dict[str, object]:
    return {
        "starts": True,
        "changed": len(comparison.changed),
        "pods": [
            {
                "pod": pair.pod.full_name,
                "admitted": [_admitted(pair.was), _admitted(pair.becomes)],
                "differences": pair.differences,
            }
            for pair in comparison.pairs
        ],
        "settings": comparison.settings,
        "rules": comparison.rules,
    }


def no_start_record(message: str) -> dict[str, object]:
    """The second kubelet would not start."""
    return {"starts": False, "message": message}


def _admitted(decision: Decision | None) -> bool | None:
    return None if decision is None else decision.admitted
