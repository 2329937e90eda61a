"""What a released pod wished before its release."""

import json
from typing import Any

import pytest

from numafit.cluster.place.narrowed import as_it_came
from numafit.cluster.place.patch import release_patch, scale_patch, waiting_spec
from tests.cluster.place.clusters import waiting

ZONE = {"key": "zone", "operator": "In", "values": ["a"]}
TERMS: list[list[dict[str, Any]]] = [
    [],
    [{"matchExpressions": [ZONE]}],
    [{"matchExpressions": [ZONE]}, {"matchFields": [{"key": "metadata.name", "operator": "NotIn", "values": ["x"]}]}],
    [{"matchExpressions": [{"key": "kubernetes.io/hostname", "operator": "In", "values": ["h1"]}]}],
]
HOSTS = {"n1": "h1", "n2": "h2"}


def affinity_of(terms: list[dict[str, Any]]) -> dict[str, Any]:
    if not terms:
        return {}
    return {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}}


@pytest.mark.parametrize("terms", TERMS)
@pytest.mark.parametrize("release", ["one", "two", "scale", "scale without labels"])
def test_what_a_release_added_is_left_out_and_the_users_own_terms_stay(
    terms: list[dict[str, Any]], release: str
) -> None:
    before = waiting("p", affinity=affinity_of(terms))
    spec = waiting_spec(before.spec)
    if release.startswith("scale"):
        excluded = HOSTS if release == "scale" else dict.fromkeys(HOSTS, "")
        patch = scale_patch(spec, "p", excluded, annotated=False)
    else:
        names = ("n1",) if release == "one" else ("n1", "n2")
        patch = release_patch(spec, "p", names, HOSTS, annotated=False)
    added = {own["path"]: own["value"] for own in json.loads(patch) if own["op"] == "add"}
    after = waiting("p", gates=(), annotations=added["/metadata/annotations"], affinity=added["/spec/affinity"])
    assert after.pod.demands != before.pod.demands
    assert as_it_came(after).pod.demands == before.pod.demands


def test_a_pod_that_nobody_released_is_left_as_it_is() -> None:
    pod = waiting("p", affinity=affinity_of(TERMS[3]))
    assert as_it_came(pod) is pod
