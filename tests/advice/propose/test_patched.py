"""A manifest or a configuration with a patch in it."""

import pytest

from numafit.advice.propose.patched import merged, patched_document, patched_manifest
from numafit.document import read_documents
from numafit.errors import InputError

POD = """# the first
apiVersion: v1
kind: Pod
metadata: {name: train}
spec:
  containers:
  - name: main   # works
    image: x
    resources:
      limits: {cpu: "20", memory: 64Gi, nvidia.com/gpu: 5}  # five
"""
DEPLOYMENT = """apiVersion: apps/v1
kind: Deployment
metadata:
  name: serve
  namespace: prod
spec:
  replicas: 9   # many
  template:
    spec:
      containers:
      - name: main
        image: x
        resources:
          requests:
            cpu: 500m
"""


def of_main(**parts: dict[str, str]) -> dict[str, object]:
    return {"spec": {"containers": [{"name": "main", "resources": parts}]}}


def test_single_values_change_where_they_stand() -> None:
    """Comments, quotes and the other documents stay. Requests that the API server fills in are not written."""
    text = f"{POD}---\n{DEPLOYMENT}"
    patch = of_main(requests={"cpu": "16", "nvidia.com/gpu": "4"}, limits={"cpu": "16", "nvidia.com/gpu": "4"})
    expected = text.replace('cpu: "20"', 'cpu: "16"').replace("gpu: 5}", "gpu: '4'}")
    assert patched_manifest(text, "Pod", "default", "train", patch) == expected
    fewer = patched_manifest(text, "Deployment", "prod", "serve", {"spec": {"replicas": 4}})
    assert fewer == text.replace("replicas: 9", "replicas: 4")


def test_what_does_not_stand_there_is_written_anew() -> None:
    """The values are those of the patch, all others stay; comments are lost."""
    patch = {"spec": {"template": of_main(limits={"cpu": "2", "memory": "1Gi"})}}
    text = patched_manifest(f"{POD}---\n{DEPLOYMENT}", "Deployment", "prod", "serve", patch)
    first, second = [each.value for each in read_documents(text)]
    assert first == read_documents(POD)[0].value
    assert isinstance(second, dict)
    (container,) = second["spec"]["template"]["spec"]["containers"]
    assert container["resources"] == {"requests": {"cpu": "500m"}, "limits": {"cpu": "2", "memory": "1Gi"}}


def test_an_object_of_a_list_is_found() -> None:
    text = '{"kind": "List", "items": [{"kind": "Pod", "metadata": {"name": "a"}, "spec": {"priority": 1}}]}'
    (found,) = read_documents(patched_manifest(text, "Pod", "default", "a", {"spec": {"priority": 7}}))
    assert isinstance(found.value, dict)
    assert found.value["items"][0]["spec"] == {"priority": 7}


def test_an_object_that_is_not_there_is_refused() -> None:
    with pytest.raises(InputError, match="there is no Pod default/other"):
        patched_manifest(POD, "Pod", "default", "other", of_main(limits={"cpu": "1"}))


def test_null_takes_away() -> None:
    """In a merge patch, as for a kubelet's configuration."""
    assert merged({"a": 1, "b": {"c": 2}}, {"a": None, "b": {"d": 3}}) == {"b": {"c": 2, "d": 3}}
    text = "kind: KubeletConfiguration # mine\ntopologyManagerPolicy: restricted\n"
    assert patched_document(text, {"topologyManagerPolicy": "best-effort"}) == text.replace("restricted", "best-effort")
    (found,) = read_documents(patched_document(text, {"topologyManagerPolicy": None}))
    assert found.value == {"kind": "KubeletConfiguration"}
