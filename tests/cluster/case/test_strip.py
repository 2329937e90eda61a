"""A case that is sent to others holds no secret."""

import json
from pathlib import Path

import pytest
from msgspec.structs import replace

from numafit.cluster.case.case import KUBELET, NODE, PODS, PUBLISHED, NodeCase
from numafit.cluster.case.strip import stripped
from numafit.cluster.topology.read import read_topology
from numafit.cluster.topology.write import topology_bytes, topology_of
from numafit.errors import InputError
from numafit.workload.reading import read_pods
from tests.cluster.case.test_fetch import case_of
from tests.cluster.topology.nodes import stage_on


def test_secrets_are_taken_out_and_counted(config: Path) -> None:
    """Values of variables, arguments, annotations, addresses; what was taken out is told."""
    case = case_of(config)
    whole = b"".join(case.files.values())
    without = b"".join(stripped(case).files.values())
    for secret in (b"hunter2", b"--token=abc123", b"s3cret", b"192.0.2.2", b"managedFields", b"sha256"):
        assert secret in whole
        assert secret not in without
    for name in (b"PASSWORD", b"registry.example.com/team/train-0", b"train-1", b"TopologyAffinityError"):
        assert name in without
    assert stripped(case).about.removed == {
        "addresses": 14,
        "annotations": 7,
        "commands and their arguments": 5,
        "identities of the machine": 3,
        "lists of images and volumes": 1,
        "managed fields": 7,
        "values of environment variables": 5,
    }


def test_what_decides_stays(config: Path) -> None:
    """The same pods, in the same order, and the same configuration."""
    case = case_of(config)
    left = stripped(case)
    assert read_pods(left.files[PODS]).pods == read_pods(case.files[PODS]).pods
    assert left.files[KUBELET] == case.files[KUBELET]
    for field in ("capacity", "allocatable"):
        assert status(left)[field] == status(case)[field]


def status(case: NodeCase) -> dict[str, object]:
    found = json.loads(case.files[NODE])["status"]
    assert isinstance(found, dict)
    return found


def test_what_marks_a_static_pod_stays(config: Path) -> None:
    case = case_of(config)
    pods = json.loads(case.files[PODS])
    pods["items"][0]["metadata"]["annotations"] = {"kubernetes.io/config.hash": "abc", "other": "x"}
    case.files[PODS] = json.dumps(pods).encode()
    first = json.loads(stripped(case).files[PODS])["items"][0]
    assert first["metadata"]["annotations"] == {"kubernetes.io/config.hash": "abc"}


def test_the_kubelets_own_secrets_go(config: Path) -> None:
    """`/configz` shows the headers that the kubelet sends where its static pods come from (1.20 to 1.36)."""
    case = case_of(config)
    answer = json.loads(case.files[KUBELET])
    secrets = {"staticPodURL": "https://u:hunter3@pods", "staticPodURLHeader": {"Authorization": ["x"]}}
    answer["kubeletconfig"] |= secrets
    case.files[KUBELET] = json.dumps(answer).encode()
    left = stripped(case)
    assert not secrets.keys() & json.loads(left.files[KUBELET])["kubeletconfig"].keys()
    assert left.about.removed["where static pods come from"] == 2


def test_names_of_secrets_go_from_variables_too(config: Path) -> None:
    case = case_of(config)
    pods = json.loads(case.files[PODS])
    pods["items"][0]["spec"]["containers"][0] |= {
        "env": [{"name": "KEY", "valueFrom": {"secretKeyRef": {"name": "deep-secret", "key": "k"}}}],
        "envFrom": [{"secretRef": {"name": "deep-secret"}}],
    }
    case.files[PODS] = json.dumps(pods).encode()
    assert b"deep-secret" not in stripped(case).files[PODS]


def test_what_cannot_be_searched_for_secrets_is_not_kept(config: Path) -> None:
    case = case_of(config)
    case.files[PODS] = b'{"items": [{"spec": {"containers": {"env": "hunter2"}}}]}'
    with pytest.raises(InputError, match=r"pods.json of node gpu-1: containers is no list of mappings"):
        stripped(case)


def test_of_what_an_agent_publishes_the_state_stays(config: Path) -> None:
    """Who wrote it when, and annotations, are nobody's business; its digests still hold."""
    published = json.loads(topology_bytes(topology_of("gpu-1", stage_on("laptop"))))
    published["metadata"] |= {"managedFields": [{"manager": "agent"}], "annotations": {"note": "hunter2"}}
    case = case_of(config)
    case = replace(case, files={**case.files, PUBLISHED: json.dumps(published).encode()})
    left = stripped(case).files[PUBLISHED]
    assert b"hunter2" not in left
    assert b"managedFields" not in left
    assert read_topology(left).status == read_topology(case.files[PUBLISHED]).status
