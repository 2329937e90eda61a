"""Settings from the `config` object of a recording."""

from numafit.quantity import parse_quantity
from numafit.replay.inputs import settings_from_recording
from numafit.settings.gates import default_gates
from numafit.settings.settings import ReservedMemory, Settings
from numafit.settings.versions import parse_version

VERSION = parse_version("v1.36.4")


def test_a_partial_config_has_the_defaults_of_the_release() -> None:
    """hint-merge and cpu-assign recordings state only what their code reads."""
    assert settings_from_recording({"reservedSystemCPUs": "0"}, VERSION) == Settings(
        version=VERSION, gates=default_gates(VERSION), reserved_cpus="0", state_dir="<STATE_DIR>"
    )


def test_every_field_of_a_config_arrives() -> None:
    """Gates override defaults; names that the release does not know are kept; the empty policy stays empty."""
    config = {
        "cpuManagerPolicy": "",
        "cpuManagerPolicyOptions": {"full-pcpus-only": "true"},
        "memoryManagerPolicy": "Static",
        "reservedMemory": [{"numaNode": 1, "limits": {"memory": "1Gi"}}],
        "topologyManagerPolicy": "restricted",
        "topologyManagerScope": "pod",
        "topologyManagerPolicyOptions": {},
        "featureGates": {"CPUManagerPolicyAlphaOptions": True, "FromTheFuture": True},
        "reservedSystemCPUs": "",
        "nodeAllocatableReservation": {"cpu": "1", "memory": "1Gi"},
    }
    assert settings_from_recording(config, VERSION) == Settings(
        version=VERSION,
        cpu_policy="",
        cpu_options={"full-pcpus-only": "true"},
        memory_policy="Static",
        reserved_memory=(ReservedMemory(1, {"memory": parse_quantity("1Gi")}),),
        topology_policy="restricted",
        topology_scope="pod",
        gates=default_gates(VERSION) | {"CPUManagerPolicyAlphaOptions": True, "FromTheFuture": True},
        reservation={"cpu": parse_quantity("1"), "memory": parse_quantity("1Gi")},
        state_dir="<STATE_DIR>",
    )
