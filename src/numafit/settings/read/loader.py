"""From a kubelet's files and command line to its configuration, in the kubelet's order: file, drop-in files, flags."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import msgspec

from numafit.document import Document, Path, field_text, read_document
from numafit.errors import InputError, StartError
from numafit.golang.text import aggregate_text
from numafit.notes import Note
from numafit.settings.config import KubeletConfig, config_of_file, config_of_merged, default_config, fields_of
from numafit.settings.gates import GateError, resolve_gates
from numafit.settings.read.arguments import Argument
from numafit.settings.read.decoder import API_VERSION, DECODE_FAILED, KIND, DecodeError, decode_config, unknown_fields
from numafit.settings.read.drop_ins import field_meant, folded, merge_patch, overridden
from numafit.settings.read.flags import Flags, parse_flags
from numafit.settings.read.forms import config_document
from numafit.settings.validation import GATE_PANIC, validate
from numafit.settings.versions import LATEST_PATCH, NEWEST_MINOR, KubeVersion, behaviour_of

GATES_STAGE = "featuregate.SetFromMap"
FILE_STAGE = "configfiles.Load"
DROP_IN_STAGE = "kubelet.mergeKubeletConfigurations"
VALIDATION_STAGE = "validation.ValidateKubeletConfiguration"


class ConfigFile(NamedTuple):
    name: str
    text: str


class UnknownField(msgspec.Struct, frozen=True):
    """A field that the release does not know. The kubelet only logs it, so it has no effect."""

    source: str
    field: str
    line: int | None
    later: bool = False
    """A later release knows it."""


class LoadedConfig(msgspec.Struct, frozen=True):
    config: KubeletConfig
    unknown: tuple[UnknownField, ...] = ()
    notes: tuple[Note, ...] = ()
    """What the form of the file does not tell."""
    default_thresholds: bool = False
    """The file names no evictionHard."""


class ConfigSources(msgspec.Struct, frozen=True):
    """All that an administrator wrote.

    Files that the arguments name are not opened: they lie on the kubelet's machine, not always on this one.
    """

    file: ConfigFile | None = None
    drop_ins: tuple[ConfigFile, ...] | None = None
    arguments: tuple[Argument, ...] = ()
    arguments_source: str = ""
    arguments_text: str = ""
    """The file that they stand in, for their places."""
    example: bool = False
    """Nobody wrote the configuration file: it stands in for one."""

    def flags(self, version: KubeVersion) -> Flags:
        """What the arguments say, with gates that the release knows."""
        flags = parse_flags(self.arguments, version, source=self.arguments_source)
        resolved_gates(version, flags.feature_gates)
        return flags

    def notes(self, loaded: LoadedConfig) -> tuple[Note, ...]:
        """What the configuration stands on. Where flags are given, a source need not tell them."""
        return tuple(note for note in loaded.notes if note.code != "flags-not-told" or not self.arguments)

    def missing(self, flags: Flags) -> dict[str, str]:
        """`--config` and `--config-dir` of the arguments -> what they name, where that was not given."""
        named = {"--config": (flags.config, self.file), "--config-dir": (flags.config_dir, self.drop_ins)}
        return {flag: name for flag, (name, given) in named.items() if name and given is None}


def in_merge_order(drop_ins: Sequence[ConfigFile]) -> list[ConfigFile]:
    """As Go walks through a folder: a folder `a` in it comes before a file `a.conf`, though "a/" is after "a."."""
    return sorted(
        (patch for patch in drop_ins if patch.name.endswith(".conf")), key=lambda patch: patch.name.split("/")
    )


def refuse_unknown(loaded: LoadedConfig, version: KubeVersion) -> None:
    """The kubelet ignores a field that it does not know; whoever wrote one that no release knows meant another."""
    for unknown in loaded.unknown:
        if not unknown.later:
            raise InputError(
                f"the kubelet {version} does not know this field and would ignore it",
                source=unknown.source,
                line=unknown.line,
                field=unknown.field,
                cure="remove it or correct its name",
            )


def read_file(file: ConfigFile | None, version: KubeVersion, gates: Mapping[str, bool]) -> LoadedConfig:
    """The configuration file; without one the defaults. `gates` are those of the flags."""
    if file is None:
        return LoadedConfig(default_config(version))
    if not file.text:
        raise StartError(FILE_STAGE, f'kubelet config file "{file.name}" was empty', code="file-empty")
    found = config_document(file.text, file.name, version)
    document = found.document
    try:
        decoded = decode_config(document.value, version, text=found.text, sort_keys=not _is_json(found.text))
    except DecodeError as error:
        raise StartError(FILE_STAGE, f"{DECODE_FAILED}{error}", cause=error) from None
    config = config_of_file(decoded.fields, version)
    _check_file_gates(version, {**gates, **config.feature_gates})
    unknown = _places(document, decoded.unknown, running=found.running)
    return LoadedConfig(config, unknown, found.notes, "evictionHard" not in decoded.fields)


def with_drop_ins(
    loaded: LoadedConfig, drop_ins: Sequence[ConfigFile], version: KubeVersion, gates: Mapping[str, bool]
) -> LoadedConfig:
    """The three ways are told in `drop_ins`."""
    patches = in_merge_order(drop_ins)
    if not patches:
        return loaded
    behaviour = behaviour_of(version)
    if behaviour.drop_ins == "none":
        raise InputError(
            f"a kubelet 1.{version.minor} has no --config-dir and reads no drop-in files",
            source=patches[0].name,
            cure="1.28 was the first; leave them away, or check --kube-version",
        )
    documents = [_drop_in(patch) for patch in patches]
    unknown = tuple(each for document in documents for each in _unknown_in(document, version))
    match behaviour.drop_ins:
        case "overridden":
            files = [_whole_file(patch, version) for patch in patches]
            config = overridden(
                loaded.config,
                [(file.config, file.default_thresholds) for file in files],
                shares=loaded.default_thresholds,
            )
        case "folded":
            for patch, document in zip(patches, documents, strict=True):
                _check_drop_in_kind(document, patch, any_kind=True)
            config = _unmarshalled(lambda: folded(loaded.config, [each.value for each in documents], version))
        case _:
            for patch, document in zip(patches, documents, strict=True):
                _check_drop_in_kind(document, patch)
            merged: object = fields_of(loaded.config)
            for document in documents:
                merged = merge_patch(merged, document.value)
            config = _unmarshalled(
                lambda: config_of_merged(decode_config(merged, version, text="", sort_keys=True).fields)
            )
    _check_file_gates(version, {**gates, **config.feature_gates})
    notes = (*loaded.notes, DROP_INS_ALPHA) if behaviour.drop_ins_alpha else loaded.notes
    return LoadedConfig(config, loaded.unknown + unknown, notes)


DROP_INS_ALPHA = Note(
    "drop-ins-alpha",
    "kubelet",
    "kubelets 1.28 and 1.29 do not start with --config-dir unless the environment variable "
    "KUBELET_CONFIG_DROPIN_DIR_ALPHA is set; it is taken as set",
)


def _drop_in(patch: ConfigFile) -> Document:
    if not patch.text:
        message = f'kubelet config file "{patch.name}" was empty'
        raise StartError(DROP_IN_STAGE, message, code="file-empty", facts={"file": patch.name})
    return read_document(patch.text, patch.name)


def _whole_file(patch: ConfigFile, version: KubeVersion) -> LoadedConfig:
    """A drop-in file read like the configuration itself."""
    try:
        return read_file(patch, version, {})
    except StartError as error:
        problem = f"error: failed to load Kubelet config file {patch.name}, error {error.message}"
        message = f"failed to load kubelet dropin file, path: {patch.name}, {problem}"
        raise StartError(DROP_IN_STAGE, message, facts={"file": patch.name}, cause=error) from None


def _unmarshalled(merge: Callable[[], KubeletConfig]) -> KubeletConfig:
    try:
        return merge()
    except DecodeError as error:
        message = f"failed to unmarshal merged JSON into kubelet configuration: {error}"
        raise StartError(DROP_IN_STAGE, message, cause=error) from None


def _unknown_in(document: Document, version: KubeVersion) -> tuple[UnknownField, ...]:
    """Fields that have no effect; where Go folds names, another case has one."""
    folds = behaviour_of(version).drop_ins == "folded"
    paths = unknown_fields(document.value, version)
    return _places(document, [path for path in paths if not (folds and field_meant(str(path[0]), version))])


def _check_drop_in_kind(document: Document, patch: ConfigFile, *, any_kind: bool = False) -> None:
    value = document.value if isinstance(document.value, dict) else {}
    api_version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    problem = ""
    if not kind:
        problem = f"error: Object 'Kind' is missing in '{patch.text}'"
    elif not any_kind and (api_version, kind) != (API_VERSION, KIND):
        group, _, name = str(api_version).rpartition("/")
        problem = f"unknown apiVersion/kind: {group}/{name}, Kind={kind}"
    if problem:
        message = f"failed to load kubelet dropin file, path: {patch.name}, {problem}"
        raise StartError(DROP_IN_STAGE, message, code="drop-in-kind", facts={"file": patch.name})


def resolved_gates(version: KubeVersion, overrides: Mapping[str, bool]) -> Mapping[str, bool]:
    """Every gate with its effective value, or the StartError."""
    try:
        return resolve_gates(version, overrides)
    except GateError as error:
        message = f"failed to set feature gates from initial flags-based config: {error}"
        raise StartError(GATES_STAGE, message, cause=error) from None


def _check_file_gates(version: KubeVersion, gates: Mapping[str, bool]) -> None:
    """Releases that panic meet the gates of a file while they fill in defaults; others later, like those of flags."""
    if behaviour_of(version).unknown_gate_panics:
        try:
            resolve_gates(version, gates)
        except GateError as error:
            raise StartError(GATES_STAGE, f"{GATE_PANIC}{error}", cause=error) from None


def validated(config: KubeletConfig, version: KubeVersion, gates: Mapping[str, bool]) -> KubeletConfig:
    """The same configuration, or the StartError of the static validation."""
    errors = validate(config, version, gates)
    if errors:
        message = f"failed to validate kubelet configuration, error: {aggregate_text([str(error) for error in errors])}"
        raise StartError(VALIDATION_STAGE, message, joins=errors)
    return config


def _places(document: Document, unknown: Sequence[Path], *, running: bool = False) -> tuple[UnknownField, ...]:
    """`running`: a kubelet printed the document, so there is one that knows all of it."""
    # No field has ever been taken out of a configuration: what the newest release lacks, none has.
    newest = KubeVersion(1, NEWEST_MINOR, LATEST_PATCH)
    nowhere = unknown_fields(document.value, newest) if unknown and not running else ()
    return tuple(
        UnknownField(document.source, field_text(path), document.place(path, key=True)[0], later=path not in nowhere)
        for path in unknown
    )


def _is_json(text: str) -> bool:
    return text.lstrip().startswith("{")
