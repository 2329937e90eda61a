"""Which pods somebody means."""

import re
from typing import Any

import pytest

from numafit.cluster.live.pods import ClusterPod
from numafit.cluster.view.found import PodWords, pod_words, pods_meant
from numafit.errors import InputError
from tests.cluster.live.cluster_objects import kept, pod_object


def owned(name: str, kind: str, owner: str, **status: Any) -> ClusterPod:
    found = pod_object(name, **status)
    found["metadata"]["ownerReferences"] = [{"kind": kind, "name": owner, "uid": "u", "controller": True}]
    return kept(found)


PODS = [
    owned("web-5c4-x", "ReplicaSet", "web-5c4"),
    owned("web-5c4-a", "ReplicaSet", "web-5c4", phase="Failed"),
    owned("web-api-7d-x", "ReplicaSet", "web-api-7d"),
    owned("train-0", "StatefulSet", "train"),
    owned("night-28-k", "Job", "night-28"),
    kept(pod_object("lone")),
]


@pytest.mark.parametrize(
    ("text", "given", "expected"),
    [
        ("lone", False, PodWords("lone", "team", "lone")),
        ("pod/lone", False, PodWords("pod/lone", "team", "lone")),
        ("po/lone", True, PodWords("po/lone", "team", "lone")),
        ("other/lone", False, PodWords("other/lone", "other", "lone")),
        ("team/lone", True, PodWords("team/lone", "team", "lone")),
        ("deploy/web", False, PodWords("deploy/web", "team", "web", "Deployment")),
        ("deployments.apps/web", False, PodWords("deployments.apps/web", "team", "web", "Deployment")),
        ("pod/other/lone", False, PodWords("pod/other/lone", "other", "lone")),
    ],
)
def test_words_name_a_pod_or_an_owner(text: str, given: bool, expected: PodWords) -> None:
    assert pod_words(text, "team", given=given) == expected


def test_two_namespaces_at_once_are_refused() -> None:
    with pytest.raises(InputError, match="names the namespace other, and -n team"):
        pod_words("other/lone", "team", given=True)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("deploy/web", ["web-5c4-x", "web-5c4-a"]),
        ("rs/web-api-7d", ["web-api-7d-x"]),
        ("sts/train", ["train-0"]),
        ("cronjob/night", ["night-28-k"]),
        ("job/night-28", ["night-28-k"]),
        ("pod/lone", ["lone"]),
    ],
)
def test_pods_are_found_by_themselves_or_by_their_owner(text: str, names: list[str]) -> None:
    """Those that have ended come last; a name that only begins like the owner's is another's."""
    found = pods_meant(pod_words(text, "team", given=False), PODS)
    assert [pod.metadata.name for pod in found] == names


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("pod/loan", "there is no pod loan in the namespace team .did you mean lone"),
        ("sts/trian", "there is no pod of a StatefulSet trian in the namespace team .did you mean train"),
        ("elsewhere/x", "-n names another namespace"),
    ],
)
def test_what_is_not_there_is_a_sentence(text: str, why: str) -> None:
    with pytest.raises(InputError) as error:
        pods_meant(pod_words(text, "team", given=False), PODS)
    assert re.search(why, str(error.value))
