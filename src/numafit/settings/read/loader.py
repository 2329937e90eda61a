"""From a kubelet's files and command line to its configuration, in the kubelet's order: file, drop-in files, flags."""

from collections.abc import Mapping, Sequence
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


def merge_patch(target: object, patch: object) -> object:
    """A JSON merge patch: objects merge key by key, null deletes, anything else replaces."""
    if not isinstance(patch, dict):
        return patch
    merged = dict(target) if isinstance(target, dict) else {}
    for key, value in patch.items():
        if value is None:
            merged.pop(key, None)
        else:
            merged[key] = merge_patch(merged.get(key), value)
    return merged


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
    return LoadedConfig(config, _places(document, decoded.unknown, running=found.running), found.notes)


def with_drop_ins(
    loaded: LoadedConfig, drop_ins: Sequence[ConfigFile], version: KubeVersion, gates: Mapping[str, bool]
) -> LoadedConfig:
    patches = in_merge_order(drop_ins)
    if not patches:
        return loaded
    if not behaviour_of(version).drop_ins:
        raise InputError(
            f"the drop-in files of kubelet 1.{version.minor} are merged by rules that numafit does not cover",
            source=patches[0].name,
            cure="1.32 and later are covered; or put everything into the configuration file",
        )
    unknown = loaded.unknown
    merged: object = fields_of(loaded.config)
    for patch in patches:
        if not patch.text:
            message = f'kubelet config file "{patch.name}" was empty'
            raise StartError(DROP_IN_STAGE, message, code="file-empty", facts={"file": patch.name})
        document = read_document(patch.text, patch.name)
        _check_drop_in_kind(document, patch)
        unknown += _places(document, unknown_fields(document.value, version))
        merged = merge_patch(merged, document.value)
    try:
        decoded = decode_config(merged, version, text="", sort_keys=True)
    except DecodeError as error:
        message = f"failed to unmarshal merged JSON into kubelet configuration: {error}"
        raise StartError(DROP_IN_STAGE, message, cause=error) from None
    config = config_of_merged(decoded.fields)
    _check_file_gates(version, {**gates, **config.feature_gates})
    return LoadedConfig(config, unknown, loaded.notes)


def _check_drop_in_kind(document: Document, patch: ConfigFile) -> None:
    value = document.value if isinstance(document.value, dict) else {}
    api_version, kind = value.get("apiVersion") or "", value.get("kind") or ""
    problem = ""
    if not kind:
        problem = f"error: Object 'Kind' is missing in '{patch.text}'"
    elif (api_version, kind) != (API_VERSION, KIND):
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
