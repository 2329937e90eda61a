"""Compose files: what their services ask for, and the second file that puts them there."""

import pytest

from numafit.document import read_document
from numafit.errors import InputError
from numafit.host.docker.compose import compose_services, override_text, planned_services
from numafit.host.host import Host
from numafit.host.lease import LEASE_LABEL, RECORD_LABEL
from numafit.host.request import JobRequest
from tests.host.ledgers import host_named, small_host

FILE = """
services:
  db: {image: postgres, cpus: 1.5, mem_limit: 512m}
  web: {image: nginx}
  job:
    image: training
    deploy: {resources: {limits: {cpus: "2", memory: 1g}}}
    x-numafit: {cpus: 1, policy: restricted}
  small: {image: cron, cpus: "0.5"}
"""


def requests(text: str) -> dict[str, JobRequest]:
    return {service.name: service.request for service in compose_services(read_document(text, "compose.yaml"))}


def test_services_ask_as_they_do_of_docker_or_of_numafit() -> None:
    """A part of a CPU is rounded up, less than one is a share of the pool; x-numafit comes first."""
    assert requests(FILE) == {
        "db": JobRequest(cpus=2, memory=512 << 20, name="db"),
        "web": JobRequest(name="web"),
        "job": JobRequest(cpus=1, memory=1 << 30, policy="restricted", name="job"),
        "small": JobRequest(name="small"),
    }


def test_the_second_file_pins_each_service() -> None:
    """What the file says itself of memory is left to it; who asks for no CPUs gets what the others leave."""
    document = read_document("services: {web: {}, a: {x-numafit: {cpus: 1, memory: 1Gi}}, b: {cpus: 2}}", "f")
    planned = planned_services(small_host(), [], compose_services(document), document)
    assert [(one.service.name, one.lease.exclusive, one.cpus) for one in planned] == [
        ("web", 0, 0b1000),
        ("a", 0b1, 0b1),
        ("b", 0b110, 0b110),
    ]
    made = read_document(override_text(planned, small_host(), "f", labels=False), "made").value
    assert made == {
        "services": {"web": {"cpuset": "3"}, "a": {"cpuset": "0", "mem_limit": "1g"}, "b": {"cpuset": "1-2"}}
    }


def test_gpus_are_named() -> None:
    host = host_named("gpu8-128cpu")
    document = read_document("services: {a: {x-numafit: {cpus: 8, gpus: 2}}}", "f")
    planned = planned_services(host, [], compose_services(document), document)
    [(name, made)] = read_document(override_text(planned, host, "f", labels=False), "made").value["services"].items()  # type: ignore[index]
    assert name == "a"
    assert made["deploy"]["resources"]["reservations"]["devices"] == [
        {"driver": "nvidia", "capabilities": ["gpu"], "device_ids": ["0", "1"]}
    ]
    assert made["shm_size"] == "16g"


def test_labels_tell_of_the_lease_and_dollars_are_kept_from_compose() -> None:
    document = read_document('services: {"a$b": {cpus: 1}}', "f")
    planned = planned_services(small_host(), [], compose_services(document), document)
    text = override_text(planned, small_host(), "f", labels=True)
    labels = read_document(text, "made").value["services"]["a$$b"]["labels"]  # type: ignore[index]
    assert labels[LEASE_LABEL] == planned[0].lease.id
    assert '"name":"a$$b"' in labels[RECORD_LABEL]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("volumes: {}", "compose.yaml:1:1: there are no services"),
        ("services: []", "services: a mapping is expected"),
        ("services: {a: 3}", "services.a: a mapping is expected"),
        ("services: {a: {cpus: many}}", "services.a: many is not a number of CPUs"),
        ('services: {a: {cpus: "inf"}}', "is not a number of CPUs"),
        ("services: {a: {mem_limit: lots}}", 'services.a: "lots" is not a size'),
        ("services: {a: {scale: 3}}", "services.a: 3 containers would share the CPUs of one"),
        ("services: {a: {deploy: {replicas: 2}}}", "services.a: 2 containers would share the CPUs of one"),
        ("services: {a: {gpus: all}}", "services.a.gpus: which devices it gets is for numafit to choose"),
        ("services: {a: {x-numafit: {cores: 3}}}", "services.a.x-numafit.cores: is not known"),
        ("services: {a: {x-numafit: {cpus: -1}}}", "services.a.x-numafit.cpus: is not a whole number"),
        ("services: {a: {x-numafit: {memory: x}}}", "services.a.x-numafit.memory: "),
        ("services: {a: {x-numafit: {policy: x}}}", "services.a.x-numafit.policy: is none of"),
    ],
)
def test_what_makes_no_sense_is_refused_with_its_place(text: str, sentence: str) -> None:
    with pytest.raises(InputError) as caught:
        requests(text)
    assert sentence in str(caught.value)


def test_a_service_without_room_is_named() -> None:
    document = read_document("services: {a: {cpus: 3}, b: {cpus: 2}}", "f")
    with pytest.raises(InputError) as caught:
        planned_services(Host(small_host().machine), [], compose_services(document), document)
    assert "services.b: no room for 2 CPUs: 2 CPUs are asked for and 1 is free" in str(caught.value)
