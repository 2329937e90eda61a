"""Kubelet configurations that are right, and mistakes to plant in them: each with the place where it must be found."""

from collections.abc import Callable, Mapping
from typing import NamedTuple

from numafit.advice.inspection.places import FlagFile
from numafit.settings.read.arguments import arguments_of_env
from numafit.settings.read.decoder import API_VERSION, KIND
from numafit.settings.read.loader import ConfigFile, ConfigSources

FILE, ENV, DROP_IN = "kubelet.yaml", "kubelet.env", "10-site.conf"

Tree = dict[str, "str | dict[str, str] | list[Entry]"]
"""Field -> its value as YAML text."""
Place = tuple[str | int, ...]


class Entry(NamedTuple):
    """Of reservedMemory."""

    node: str
    limits: dict[str, str]
    more: tuple[str, ...] = ()


class Written(NamedTuple):
    tree: Tree
    flags: list[str]
    drop_in: dict[str, str]


def right() -> Written:
    """A kubelet that starts on a machine with two NUMA nodes of 16Gi."""
    tree: Tree = {
        "apiVersion": API_VERSION,
        "kind": KIND,
        "cpuManagerPolicy": "static",
        "cpuManagerPolicyOptions": {"full-pcpus-only": '"true"'},
        "memoryManagerPolicy": "Static",
        "topologyManagerPolicy": "restricted",
        "topologyManagerScope": "container",
        "topologyManagerPolicyOptions": {"prefer-closest-numa-nodes": '"true"'},
        "kubeReserved": {"cpu": '"2"', "memory": "512Mi"},
        "systemReserved": {"memory": "412Mi"},
        "reservedMemory": [Entry("0", {"memory": "512Mi"}), Entry("1", {"memory": "512Mi"})],
        "evictionHard": {"memory.available": "100Mi", "nodefs.available": "10%"},
        "featureGates": {"CPUManagerPolicyAlphaOptions": "false"},
        "maxPods": "110",
    }
    return Written(tree, ["--v=2"], {})


class Kind(NamedTuple):
    """A mistake: what it changes, where it must be found, and under which code of lint."""

    name: str
    code: str
    plant: Callable[[Written], Place]
    source: str = FILE
    spoils: frozenset[str] = frozenset()
    """What nobody can judge any more once it is planted."""
    needs: frozenset[str] = frozenset()
    machine: bool = False
    error: bool = True


def _field(name: str, value: str) -> Callable[[Written], Place]:
    def plant(written: Written) -> Place:
        written.tree[name] = value
        return (name,)

    return plant


def _member(field: str, key: str, value: str) -> Callable[[Written], Place]:
    def plant(written: Written) -> Place:
        members = written.tree.setdefault(field, {})
        assert isinstance(members, dict)
        members[key] = value
        return (field, key)

    return plant


def _entry(node: str, limits: Mapping[str, str], *at: str, more: tuple[str, ...] = ()) -> Callable[[Written], Place]:
    def plant(written: Written) -> Place:
        entries = written.tree["reservedMemory"]
        assert isinstance(entries, list)
        entries.append(Entry(node, dict(limits), more))
        return ("reservedMemory", len(entries) - 1, *at)

    return plant


def _other_sum(written: Written) -> Place:
    entries = written.tree["reservedMemory"]
    assert isinstance(entries, list)
    entries[0].limits["memory"] = "640Mi"
    return ("reservedMemory", 0)


def _nothing_reserved(written: Written) -> Place:
    reserved = written.tree["kubeReserved"]
    assert isinstance(reserved, dict)
    reserved.pop("cpu", None)
    return ("cpuManagerPolicy",)


def _flag(text: str) -> Callable[[Written], Place]:
    def plant(written: Written) -> Place:
        written.flags.append(text)
        return (text,)

    return plant


def _dropped(field: str, value: str) -> Callable[[Written], Place]:
    def plant(written: Written) -> Place:
        written.drop_in[field] = value
        return (field,)

    return plant


def _tags(text: str) -> frozenset[str]:
    return frozenset(text.split())


KINDS = (
    Kind("unknown gate", "NF102", _member("featureGates", "Nope", "true")),
    Kind("locked gate", "NF102", _member("featureGates", "CPUManagerPolicyOptions", "false")),
    Kind("gate of the wrong type", "NF101", _member("featureGates", "GracefulNodeShutdown", "perhaps")),
    Kind("gate in a flag", "NF102", _flag("--feature-gates=Nada=true"), ENV),
    Kind("number that is none", "NF101", _field("maxPods", "many")),
    Kind("duration that is none", "NF101", _field("syncFrequency", "soon")),
    Kind("mapping that is none", "NF101", _field("evictionSoft", "3")),
    Kind("list that is none", "NF101", _field("clusterDNS", "10.0.0.10")),
    Kind("quantity that is none", "NF101", _entry("1", {"memory": "much"}, "limits", "memory"), spoils=_tags("sum")),
    Kind("unknown field", "NF201", _field("cpuManagerPolcy", "static"), error=False),
    Kind(
        "unknown field of an entry",
        "NF201",
        _entry("1", {}, "more", more=("numa: 1",)),
        error=False,
    ),
    Kind("topology policy", "NF105", _field("topologyManagerPolicy", "most"), spoils=_tags("topology")),
    Kind("topology scope", "NF105", _field("topologyManagerScope", "node")),
    Kind("CPU policy", "NF105", _field("cpuManagerPolicy", "dynamic"), spoils=_tags("cpu"), needs=_tags("policies")),
    Kind("memory policy", "NF105", _field("memoryManagerPolicy", "Dynamic"), spoils=_tags("memory sum")),
    Kind("policy of the wrong type", "NF101", _field("cpuManagerPolicy", "[static]"), spoils=_tags("cpu policies")),
    Kind("unknown CPU option", "NF112", _member("cpuManagerPolicyOptions", "fast", '"true"'), needs=_tags("cpu")),
    Kind(
        "CPU option without its gate",
        "NF112",
        _member("cpuManagerPolicyOptions", "align-by-socket", '"true"'),
        needs=_tags("cpu"),
    ),
    Kind("CPU option", "NF112", _member("cpuManagerPolicyOptions", "full-pcpus-only", "maybe"), needs=_tags("cpu")),
    Kind(
        "unknown topology option",
        "NF112",
        _member("topologyManagerPolicyOptions", "near", '"true"'),
        needs=_tags("topology"),
    ),
    Kind(
        "small topology option",
        "NF112",
        _member("topologyManagerPolicyOptions", "max-allowable-numa-nodes", '"4"'),
        needs=_tags("topology"),
    ),
    Kind(
        "topology option",
        "NF112",
        _member("topologyManagerPolicyOptions", "prefer-closest-numa-nodes", "perhaps"),
        needs=_tags("topology"),
    ),
    Kind("resource that cannot be reserved", "NF103", _member("kubeReserved", "rain", '"1"')),
    Kind("amount that is none", "NF103", _member("kubeReserved", "cpu", "few"), spoils=_tags("cpus")),
    Kind("negative amount", "NF103", _member("systemReserved", "memory", "-1Gi"), spoils=_tags("sum")),
    Kind("list of CPUs", "NF103", _field("reservedSystemCPUs", "0-x"), spoils=_tags("cpus")),
    Kind(
        "CPUs that are not there",
        "NF114",
        _field("reservedSystemCPUs", '"0,99"'),
        spoils=_tags("cpus"),
        needs=_tags("list"),
        machine=True,
    ),
    Kind("nothing reserved", "NF111", _nothing_reserved, needs=_tags("cpus cpu")),
    Kind("entry of zero", "NF103", _entry("0", {"hugepages-2Mi": '"0"'}, "limits", "hugepages-2Mi")),
    Kind("entry that comes twice", "NF103", _entry("0", {"memory": "1Mi"}, "limits", "memory"), spoils=_tags("sum")),
    Kind("entry of another type", "NF103", _entry("0", {"cpu": '"1"'}, "limits", "cpu")),
    Kind(
        "entry of no node",
        "NF114",
        _entry("7", {"memory": "1Mi"}, "numaNode"),
        spoils=_tags("sum"),
        needs=_tags("memory"),
        machine=True,
    ),
    Kind("sum", "NF110", _other_sum, needs=_tags("sum")),
    Kind("unknown signal", "NF103", _member("evictionHard", "memory.free", "1Gi")),
    Kind("threshold that is none", "NF103", _member("evictionHard", "nodefs.available", "lots")),
    Kind(
        "threshold that the sum needs", "NF103", _member("evictionHard", "memory.available", "x%"), spoils=_tags("sum")
    ),
    Kind("unknown enforcement", "NF103", _field("enforceNodeAllocatable", "[some]")),
    Kind("negative number", "NF103", _field("podsPerCore", "-1"), needs=_tags("pods")),
    Kind("share that is none", "NF103", _member("qosReserved", "cpu", "50%")),
    Kind("unknown flag", "NF104", _flag("--what-flag=1"), ENV),
    Kind("flag of a bad value", "NF104", _flag("--pods-per-core=some"), ENV, spoils=_tags("pods")),
    Kind("drop-in of a wrong type", "NF101", _dropped("kubeAPIQPS", "fast"), DROP_IN),
    Kind("drop-in with a bad policy", "NF103", _dropped("eventBurst", "[1]"), DROP_IN)._replace(code="NF101"),
    Kind("drop-in with an unknown field", "NF201", _dropped("eventBrust", "1"), DROP_IN, error=False),
)


def together(kinds: tuple[Kind, ...]) -> bool:
    """None of them takes away what another one needs to be found, and none writes over another."""
    for kind in kinds:
        for other in kinds:
            if kind is not other and kind.needs & other.spoils:
                return False
    written = right()
    places = [(kind.source, kind.plant(written)) for kind in kinds]
    fields = [(source, place[:2] if place[0] != "reservedMemory" else place) for source, place in places]
    names = [kind.name for kind in kinds]
    lists = {"list of CPUs", "CPUs that are not there", "nothing reserved", "amount that is none"} & set(names)
    policies = {"CPU policy", "policy of the wrong type", "nothing reserved"} & set(names)
    return len(set(fields)) == len(fields) and len(lists) < 2 and len(policies) < 2


class Planted(NamedTuple):
    file: str
    env: str
    drop_in: str
    expected: dict[tuple[str, int], str]
    """(source, line) -> code."""

    def sources(self) -> ConfigSources:
        flags = FlagFile(ENV, self.env, arguments_of_env(self.env, ENV))
        return ConfigSources(
            ConfigFile(FILE, self.file), (ConfigFile(DROP_IN, self.drop_in),), flags.arguments, ENV, self.env
        )


def planted(kinds: tuple[Kind, ...]) -> Planted:
    written = right()
    places = [kind.plant(written) for kind in kinds]
    file, lines = _rendered(written.tree)
    head = {"apiVersion": API_VERSION, "kind": KIND}
    drop_in, drop_lines = _rendered({**head, **written.drop_in})
    env = "\n".join(f"ARGS_{index}={flag}" for index, flag in enumerate(written.flags)) + "\n"
    expected = {}
    for kind, place in zip(kinds, places, strict=True):
        if kind.source == ENV:
            line = written.flags.index(str(place[0])) + 1
        else:
            line = (lines if kind.source == FILE else drop_lines).get(place, 0)
        if line:
            # else another mistake took it out again
            expected[kind.source, line] = kind.code
    return Planted(file, env, drop_in, expected)


def _rendered(tree: Mapping[str, object]) -> tuple[str, dict[Place, int]]:
    """One line for each value, and where it is."""
    rows: list[str] = []
    lines: dict[Place, int] = {}

    def add(row: str, *place: str | int) -> None:
        rows.append(row)
        lines[place] = len(rows)

    for name, value in tree.items():
        if isinstance(value, dict):
            add(f"{name}:", name)
            for key, text in value.items():
                add(f"  {key}: {text}", name, key)
        elif isinstance(value, list):
            add(f"{name}:", name)
            for index, entry in enumerate(value):
                add(f"- numaNode: {entry.node}", name, index, "numaNode")
                lines[name, index] = len(rows)
                for row in entry.more:
                    add(f"  {row}", name, index, "more")
                add("  limits:" if entry.limits else "  limits: {}", name, index, "limits")
                for key, text in entry.limits.items():
                    add(f"    {key}: {text}", name, index, "limits", key)
        else:
            add(f"{name}: {value}", name)
    return "\n".join(rows) + "\n", lines
