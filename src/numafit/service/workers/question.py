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
    without: tuple[str, ...] = ()
    """Holders, by id or name, that are taken to be gone."""


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


class WhyNot(PodsAsked, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    numa: Annotated[int, msgspec.Meta(ge=0, le=1 << 16)]
    """The id of the NUMA node that somebody has in mind."""
    pod: str | None = None
    """Only this pod (name or namespace/name); the others are played."""


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


class Doctor(Place, frozen=True, rename="camel", forbid_unknown_fields=True, kw_only=True):
    empty: bool = False
    """Without the state of the pods that are on the node; another machine has none."""


class Apply(msgspec.Struct, frozen=True, rename="camel", forbid_unknown_fields=True):
    """A patch of a proposal, and the text that it is for: `pods` with `pod`, or `kubelet`."""

    patch: dict[str, Any]
    pods: str | None = None
    pod: str | None = None
    """Name or namespace/name of the pod whose manifest, or whose maker's, is meant."""
    kubelet: str | None = None


Kind = Literal["simulate", "explain", "advise", "fit", "whatif", "compare", "lint", "log", "why-not", "doctor", "apply"]

BODIES: dict[str, type[msgspec.Struct]] = {
    "simulate": Simulate,
    "explain": Explain,
    "advise": Advise,
    "fit": Fit,
    "whatif": WhatIf,
    "compare": Compare,
    "lint": Lint,
    "why-not": WhyNot,
    "doctor": Doctor,
    "apply": Apply,
}
"""Kind -> its body; a log is no JSON."""
