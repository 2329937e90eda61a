"""The settings of a node as the API shows them, and what else could be chosen."""

from collections.abc import Mapping

import msgspec

from numafit.bits import cpuset_text
from numafit.settings.options import CPU_OPTION_STAGES, TOPOLOGY_OPTION_STAGES
from numafit.settings.settings import Settings
from numafit.settings.versions import DEFAULT_VERSION, NEWEST_MINOR, OLDEST_MINOR

POLICIES = ("none", "best-effort", "restricted", "single-numa-node")
SCOPES = ("container", "pod")


class Option(msgspec.Struct, frozen=True):
    name: str
    manager: str
    """`cpu` or `topology`."""
    since: str
    """The first release that knows it."""


class Resolved(msgspec.Struct, frozen=True, rename="camel"):
    """What a kubelet runs with."""

    version: str
    policy: str
    scope: str
    cpu_manager_policy: str
    memory_manager_policy: str
    cpu_options: Mapping[str, str]
    topology_options: Mapping[str, str]


class SettingsView(Resolved, frozen=True, rename="camel", kw_only=True):
    kubelet: str
    versions: tuple[str, ...]
    policies: tuple[str, ...]
    scopes: tuple[str, ...]
    options: tuple[Option, ...]
    example: bool
    """Nobody said which kubelet is there, if any: an example of the newest release stands in for questions."""
    reserved_cpus: str
    """Those that it gives to nobody."""


def resolved(settings: Settings) -> Resolved:
    return Resolved(
        str(settings.version),
        settings.topology_policy,
        settings.topology_scope,
        settings.cpu_policy,
        settings.memory_policy,
        settings.cpu_options,
        settings.topology_options,
    )


def settings_view(settings: Settings, kubelet: str, reserved: int, *, example: bool = False) -> SettingsView:
    """`reserved` are CPUs, as a mask."""
    own = msgspec.structs.asdict(resolved(settings))
    releases = [f"v1.{minor}" for minor in range(NEWEST_MINOR, OLDEST_MINOR - 1, -1)]
    options = [
        Option(name, manager, f"v1.{min(stages)}")
        for manager, table in (("cpu", CPU_OPTION_STAGES), ("topology", TOPOLOGY_OPTION_STAGES))
        for name, stages in table.items()
    ]
    return SettingsView(
        **own,
        kubelet=kubelet,
        versions=tuple(dict.fromkeys([str(settings.version), str(DEFAULT_VERSION), *releases])),
        policies=POLICIES,
        scopes=SCOPES,
        options=tuple(options),
        example=example,
        reserved_cpus=cpuset_text(reserved),
    )
