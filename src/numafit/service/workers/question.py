"""What a request may ask: the bodies of the POST operations, decoded strictly."""

from typing import Annotated, Any, Literal

import msgspec

from numafit.advice.fit import Turns


class Shorthand(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """Single settings, laid over a configuration. The feature gates that the options need are switched on with them."""

    policy: str | None = None
    """Of the topology manager."""
    scope: str | None = None
    cpu_manager_policy: str | None = None
    memory_manager_policy: str | None = None
    cpu_options: dict[str, str] | None = None
    topology_options: dict[str, str] | None = None


class Place(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A node: its machine and its kubelet. What is left out is that of the node shown."""

    machine: str | dict[str, Any] | None = None
    """A name of the catalogue, or a machine as `numafit machine show -o json` prints it."""
    kubelet: str | None = None
    """A KubeletConfiguration, YAML or JSON."""
    settings: Shorthand | None = None
    version: str | None = None
    devices: tuple[str, ...] = ()
    """As for `--device`: `nvidia.com/gpu=gpu0@0,gpu1@1`."""


class PodsAsked(Place, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    pods: str
    """Manifests, YAML or JSON."""
    empty: bool = False
    """Ask an idle node; else the pods come on top of what is held now. Another machine is always idle."""


class Simulate(PodsAsked, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    events: str | None = None
    """What happens, one event a line, as in a file of `--events`. Without `config=`."""


class Explain(Simulate, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    pod: str | None = None
    """Only this pod (name or namespace/name); the others are played."""


MOST_PROPOSALS = 8


class Advise(PodsAsked, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    pod: str | None = None
    """Only this pod (name or namespace/name); the others are played."""
    most: Annotated[int, msgspec.Meta(ge=1, le=100)] = MOST_PROPOSALS
    """Proposals per pod."""


class Fit(PodsAsked, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    order: Turns = "round-robin"
    compare: bool = False
    """One answer per topology policy, scope and option."""


class WhatIf(Simulate, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    advice: bool = True
    """Also say what to change; that takes many times longer than the decision. Not with `events`."""


class Compare(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    left: Place
    right: Place
    pods: str
    empty: bool = False


class File(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    name: str
    text: str


class Lint(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    files: tuple[File, ...]
    machine: str | dict[str, Any] | None = None
    """Left out: no machine is looked at."""
    version: str | None = None


Kind = Literal["simulate", "explain", "advise", "fit", "whatif", "compare", "lint", "log"]

BODIES: dict[str, type[msgspec.Struct]] = {
    "simulate": Simulate,
    "explain": Explain,
    "advise": Advise,
    "fit": Fit,
    "whatif": WhatIf,
    "compare": Compare,
    "lint": Lint,
}
"""Kind -> its body; a log is no JSON."""
