"""A kubelet configuration as text, and single settings laid over it."""

from collections.abc import Mapping

from numafit.document import read_document
from numafit.errors import InputError
from numafit.service.question import Shorthand
from numafit.settings.decode import API_VERSION, KIND
from numafit.settings.gates import default_gates
from numafit.settings.options import CPU_OPTION_STAGES, TOPOLOGY_OPTION_STAGES, Stages, stage_of
from numafit.settings.versions import KubeVersion

SOURCE = "kubelet"


def with_shorthand(text: str, shorthand: Shorthand, version: KubeVersion) -> str:
    """The configuration with these settings. Options are laid over those that are there, key by key."""
    import yaml

    document = read_document(text, SOURCE)
    if not isinstance(document.value, dict):
        cure = f"it starts with apiVersion: {API_VERSION}"
        raise InputError("is not a KubeletConfiguration", source=SOURCE, cure=cure)
    fields = {"apiVersion": API_VERSION, "kind": KIND, **document.value}
    for name, value in (
        ("topologyManagerPolicy", shorthand.policy),
        ("topologyManagerScope", shorthand.scope),
        ("cpuManagerPolicy", shorthand.cpu_manager_policy),
        ("memoryManagerPolicy", shorthand.memory_manager_policy),
    ):
        if value is not None:
            fields[name] = value
    for name, options in (
        ("cpuManagerPolicyOptions", shorthand.cpu_options),
        ("topologyManagerPolicyOptions", shorthand.topology_options),
    ):
        if options:
            there = fields.get(name)
            fields[name] = (there if isinstance(there, dict) else {}) | options
    gates = _gates(shorthand, version)
    if gates:
        there = fields.get("featureGates")
        fields["featureGates"] = gates | (there if isinstance(there, dict) else {})
    return yaml.safe_dump(fields, sort_keys=False)


def _gates(shorthand: Shorthand, version: KubeVersion) -> dict[str, bool]:
    """Those that the options need and that are off in this release unless somebody switches them on."""
    names = [
        *_gate_names("CPUManagerPolicy", shorthand.cpu_options or {}, CPU_OPTION_STAGES, version),
        *_gate_names("TopologyManagerPolicy", shorthand.topology_options or {}, TOPOLOGY_OPTION_STAGES, version),
    ]
    defaults = default_gates(version)
    return {name: True for name in names if defaults.get(name) is False}


def _gate_names(prefix: str, options: Mapping[str, str], stages: Stages, version: KubeVersion) -> list[str]:
    reached = {stage_of(option, stages, version.minor) for option in options}
    names = [f"{prefix}{stage.capitalize()}Options" for stage in ("alpha", "beta") if stage in reached]
    return [f"{prefix}Options", *names] if options else []
