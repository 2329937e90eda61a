"""One kubelet as its files describe it: a configuration, flags, or both; and where each of its settings stands."""

import re
from itertools import pairwise

from numafit.advice.inspection.places import DocumentPart, FlagFile, Position
from numafit.document import Path
from numafit.errors import InputError, KubeletError
from numafit.settings.read.arguments import Argument
from numafit.settings.read.forms import config_document
from numafit.settings.read.loader import DROP_IN_STAGE, FILE_STAGE, ConfigFile, ConfigSources, in_merge_order
from numafit.settings.versions import DEFAULT_VERSION, KubeVersion

FLAG_OF = {
    "cpuManagerPolicy": "cpu-manager-policy",
    "cpuManagerPolicyOptions": "cpu-manager-policy-options",
    "memoryManagerPolicy": "memory-manager-policy",
    "reservedMemory": "reserved-memory",
    "topologyManagerPolicy": "topology-manager-policy",
    "topologyManagerScope": "topology-manager-scope",
    "topologyManagerPolicyOptions": "topology-manager-policy-options",
    "kubeReserved": "kube-reserved",
    "systemReserved": "system-reserved",
    "reservedSystemCPUs": "reserved-cpus",
    "kubeReservedCgroup": "kube-reserved-cgroup",
    "systemReservedCgroup": "system-reserved-cgroup",
    "enforceNodeAllocatable": "enforce-node-allocatable",
    "cgroupsPerQOS": "cgroups-per-qos",
    "evictionHard": "eviction-hard",
    "evictionSoft": "eviction-soft",
    "evictionSoftGracePeriod": "eviction-soft-grace-period",
    "evictionMinimumReclaim": "eviction-minimum-reclaim",
    "qosReserved": "qos-reserved",
    "maxPods": "max-pods",
    "podsPerCore": "pods-per-core",
    "featureGates": "feature-gates",
    "imageGCHighThresholdPercent": "image-gc-high-threshold",
    "imageGCLowThresholdPercent": "image-gc-low-threshold",
    "serializeImagePulls": "serialize-image-pulls",
    "containerLogMaxFiles": "container-log-max-files",
}
"""Field of a KubeletConfiguration -> the flag that overrides it."""


_RESERVING = ("kubeReserved", "systemReserved", "evictionHard", "memoryManagerPolicy")
"""CPUs and memory may be reserved by several fields."""


class KubeletText:
    """`part` or `flags` is there, or both. `drop_ins` lie over the part, the last one on top."""

    def __init__(
        self, part: DocumentPart | None, flags: FlagFile | None, drop_ins: tuple[DocumentPart, ...] = ()
    ) -> None:
        self.part = part
        self.flags = flags
        self.drop_ins = drop_ins

    @property
    def source(self) -> str:
        """The name under which the kubelet's errors know its configuration."""
        if self.part is not None:
            return self.part.document.source
        return self.flags.source if self.flags is not None else ""

    @property
    def arguments(self) -> tuple[Argument, ...]:
        return self.flags.arguments if self.flags is not None else ()

    def value(self, field: str) -> object:
        """What the file says; None without a file."""
        part = self.setting(field)
        return None if part is None else part.value.get(field)

    def setting(self, field: str | int) -> DocumentPart | None:
        """The file that sets the field last."""
        parts = (self.part, *self.drop_ins)
        return next((part for part in reversed(parts) if part is not None and field in part.value), None)

    def place(self, *path: str | int, key: bool = False) -> Position:
        """Where the field is set, or the beginning of the file where it is not."""
        found = self.position(path, key=key)
        if found is None:
            return self.part.place() if self.part is not None else Position(self.source)
        return found

    def position(self, path: Path, *, key: bool = False) -> Position | None:
        """Of a flag, if one sets the field; else in the file that sets it last. None where nothing does."""
        if not path:
            return None
        flag = self.flag_place(FLAG_OF.get(str(path[0]), ""))
        part = self._deciding(path) or self.setting(path[0])
        if flag is not None and part is not None and path[0] == "featureGates" and len(path) > 1:
            # Gates are the one mapping that flags add to; others they replace.
            flag = self._naming_place("feature-gates", str(path[1]))
        return flag if flag is not None or part is None else part.place(path, key=key)

    def _deciding(self, path: Path) -> DocumentPart | None:
        """The last part that has a say about all of the path: mappings are merged, anything else is replaced."""
        return next(
            (part for part in reversed((self.part, *self.drop_ins)) if part is not None and _decides(part.value, path)),
            None,
        )

    def _naming_place(self, flag: str, key: str) -> Position | None:
        """The last occurrence of a flag of pairs `key=value` that names the key."""
        found: Position | None = None
        for argument, following in pairwise((*self.arguments, Argument(""))):
            name, equals, value = argument.text.partition("=")
            named = (value if equals else following.text).split(",")
            is_flag = name.replace("_", "-") == f"--{flag}"
            if self.flags is not None and is_flag and any(each.partition("=")[0].strip() == key for each in named):
                found = argument_place(self.flags, argument)
        return found

    def cause_of(self, error: KubeletError) -> Path:
        """The field that a refusal is about; of several that may be meant, one that is set."""
        if error.field in (("reservedSystemCPUs",), ("kubeReserved",), ("reservedMemory",), ("cpuManagerPolicy",)):
            resource = error.facts.get("resource", "")
            for field in (str(error.field[0]), *_RESERVING):
                if field in ("kubeReserved", "systemReserved") and resource:
                    if self._reserves(field, resource):
                        return (field, resource)
                elif self.sets(field):
                    return (field,)
        return error.field

    def where(self, problem: KubeletError, stage: str) -> tuple[Position | None, Path]:
        """What a refusal is about: its place, and its field. Looks only at what the kubelet had read at this stage."""
        facts = problem.facts
        if "flag" in facts:
            return self.flag_place(facts["flag"], facts.get("value")), ()
        if "file" in facts:
            return Position(facts["file"]), ()
        read = self
        if stage in (FILE_STAGE, DROP_IN_STAGE):
            read = KubeletText(self.part, None, self.drop_ins if stage == DROP_IN_STAGE else ())
        field = read.cause_of(problem)
        return read.position(field), field

    def sources(self) -> ConfigSources:
        """As the kubelet reads them."""
        flags = self.flags or FlagFile("", "", ())
        return ConfigSources(
            None if self.part is None else self.part.file(),
            tuple(part.file() for part in self.drop_ins) or None,
            flags.arguments,
            flags.source,
            flags.text,
        )

    def _reserves(self, field: str, resource: str) -> bool:
        """A flag replaces the whole field."""
        if self.flag_place(FLAG_OF[field]) is not None:
            return self._naming_place(FLAG_OF[field], resource) is not None
        part = self._deciding((field, resource))
        amounts = None if part is None else part.value[field]
        return isinstance(amounts, dict) and amounts[resource] is not None

    def sets(self, field: str) -> bool:
        return self.flag_place(FLAG_OF.get(field, "")) is not None or self.value(field) is not None

    def flag_place(self, name: str, value: str | None = None) -> Position | None:
        """The last occurrence, which is the one that counts; of a value, the one that has it."""
        if not name or self.flags is None:
            return None
        found: Position | None = None
        for argument, following in pairwise((*self.arguments, Argument(""))):
            given, equals, text = argument.text.partition("=")
            if given.replace("_", "-") == f"--{name}" and value in (None, text if equals else following.text):
                found = argument_place(self.flags, argument)
        return found


def kubelet_text(sources: ConfigSources, version: KubeVersion = DEFAULT_VERSION) -> KubeletText:
    """Of files that cannot be read nothing is shown."""
    file = None if sources.example or sources.file is None else _part(sources.file, version)
    flags = None
    if sources.arguments_source:
        flags = FlagFile(sources.arguments_source, sources.arguments_text, sources.arguments)
    parts = (_part(patch, version) for patch in in_merge_order(sources.drop_ins or ()))
    return KubeletText(file, flags, tuple(part for part in parts if part is not None))


def _part(file: ConfigFile, version: KubeVersion) -> DocumentPart | None:
    try:
        return DocumentPart(config_document(file.text, file.name, version).document, text=file.text)
    except InputError:
        return None


def _decides(value: object, path: Path) -> bool:
    for step in path:
        if not isinstance(value, dict):
            return True
        if step not in value:
            return False
        value = value[step]
    return True


def argument_place(flags: FlagFile, argument: Argument) -> Position:
    """The column is that of the flag's name in its line, as far as it can be found there."""
    line = argument.line or 1
    rows = flags.text.split("\n")
    row = rows[line - 1] if line <= len(rows) else ""
    name = argument.text.partition("=")[0]
    match = re.search(re.escape(name) + r"(?![\w-])", row)
    return Position(flags.source, line, match.start() + 1 if match else 1)
