"""Files and flags of a kubelet without what it cannot read in them."""

from collections.abc import Iterator, Sequence
from itertools import pairwise

from msgspec.structs import replace

from numafit.advice.inspection.checks import ALL, DROP_IN
from numafit.advice.inspection.places import written
from numafit.advice.inspection.text import FLAG_OF
from numafit.document import Path
from numafit.errors import InputError, KubeletError
from numafit.settings.read.arguments import Argument
from numafit.settings.read.decoder import API_VERSION, KIND
from numafit.settings.read.flags import FlagError
from numafit.settings.read.forms import config_document
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.versions import KubeVersion

HEAD = {"apiVersion": API_VERSION, "kind": KIND}
_FIELD_OF = {flag: field for field, flag in FLAG_OF.items()}
_KINDS = ("decode-kind-type", "api-version", "kind-missing", "kind-unknown")


def without_flag(sources: ConfigSources, error: FlagError) -> ConfigSources:
    """Also without the word behind it, if that looks like its value."""
    arguments = list(sources.arguments)
    at = arguments.index(error.argument)
    own_value = "=" not in error.argument.text and at + 1 < len(arguments) and arguments[at + 1].text[:1] != "-"
    del arguments[at : at + 1 + own_value]
    return replace(sources, arguments=tuple(arguments))


def without_file(sources: ConfigSources, name: str) -> ConfigSources:
    """Without a drop-in file."""
    return replace(sources, drop_ins=tuple(patch for patch in sources.drop_ins or () if patch.name != name))


def readable(
    sources: ConfigSources, problem: KubeletError, step: str, version: KubeVersion
) -> tuple[ConfigSources, Path | None]:
    """The sources without what this refusal is about, and the value that nobody knows then."""
    if problem.code in ("flag-value", "flag-needs-value"):
        flag = problem.facts["flag"]
        field = _FIELD_OF.get(flag)
        return _without_value(sources, flag, problem.facts.get("value")), (field,) if field else None
    if problem.field[:1] == ("featureGates",) and problem.code.startswith("gate-"):
        names = problem.facts["missing"].split() if problem.code == "gate-depends" else [str(problem.field[1])]
        for name in (str(problem.field[1]), *names):
            sources = _without_gate(sources, name, version)
        return sources, None
    if problem.code in ("drop-in-kind", "file-empty") and "file" in problem.facts:
        return _with_kind(sources, problem.facts["file"], version)
    if problem.code == "file-empty":
        return replace(sources, file=sources.file and sources.file._replace(text=written(HEAD))), None
    if problem.code in _KINDS:
        file = sources.file and _changed(sources.file, (), version)
        unknown = sources.file is not None and not isinstance(_value(sources.file, version), dict)
        return replace(sources, file=file), ALL if unknown else None
    if step == "file":
        return replace(sources, file=sources.file and _changed(sources.file, problem.field, version)), problem.field
    return _without_field(sources, problem.field, version), problem.field


def _without_field(sources: ConfigSources, field: Path, version: KubeVersion) -> ConfigSources:
    file = sources.file and _changed(sources.file, field, version)
    patches = sources.drop_ins and tuple(_changed(patch, field, version) for patch in sources.drop_ins)
    return replace(sources, file=file, drop_ins=patches)


def _with_kind(sources: ConfigSources, name: str, version: KubeVersion) -> tuple[ConfigSources, Path | None]:
    """A drop-in file that only lacks its kind is read as if it had one."""
    for patch in sources.drop_ins or ():
        value = _value(patch, version) if patch.name == name and patch.text else None
        if isinstance(value, dict) and not value.get("kind"):
            kept = tuple(_changed(each, (), version) if each.name == name else each for each in sources.drop_ins or ())
            return replace(sources, drop_ins=kept), None
    return without_file(sources, name), (*DROP_IN, name)


def _value(file: ConfigFile, version: KubeVersion) -> object:
    try:
        return config_document(file.text, file.name, version).document.value
    except InputError:
        return None


def _changed(file: ConfigFile, field: Path, version: KubeVersion) -> ConfigFile:
    """Without this field; of no field, with the kind that it should have."""
    value = _value(file, version)
    if not field:
        return file._replace(text=written({**value, **HEAD} if isinstance(value, dict) else HEAD))
    pruned = _pruned(value, field)
    return file if pruned == value else file._replace(text=written(pruned))


def _pruned(value: object, field: Path) -> object:
    """Items of a list keep their places: one that goes becomes null."""
    step, rest = field[0], field[1:]
    if isinstance(value, dict) and step in value:
        return {key: _pruned(item, rest) if key == step else item for key, item in value.items() if rest or key != step}
    if isinstance(value, list) and isinstance(step, int) and step < len(value):
        inner = _pruned(value[step], rest) if rest else None
        return [*value[:step], inner, *value[step + 1 :]]
    return value


def _without_value(sources: ConfigSources, flag: str, value: str | None) -> ConfigSources:
    """`value` None: the flag is the last word, and lacks one."""
    if value is None:
        return replace(sources, arguments=sources.arguments[:-1])
    kept: list[Argument] = []
    for given, words in _given(sources.arguments):
        if given != (flag, value):
            kept += words
    return replace(sources, arguments=tuple(kept))


def _without_gate(sources: ConfigSources, name: str, version: KubeVersion) -> ConfigSources:
    kept: list[Argument] = []
    for (flag, value), words in _given(sources.arguments):
        if flag == "feature-gates":
            pairs = [pair for pair in value.split(",") if pair.partition("=")[0].strip() != name]
            kept.append(words[0]._replace(text=f"--feature-gates={','.join(pairs)}"))
        else:
            kept += words
    return _without_field(replace(sources, arguments=tuple(kept)), ("featureGates", name), version)


def _given(arguments: Sequence[Argument]) -> Iterator[tuple[tuple[str, str], tuple[Argument, ...]]]:
    """Each flag with its value, and the one or two words that say so; other words each by itself."""
    taken = False
    for argument, following in pairwise((*arguments, Argument(""))):
        if taken:
            taken = False
            continue
        name, equals, value = argument.text.partition("=")
        flag = name.removeprefix("--").replace("_", "-") if name.startswith("--") else ""
        taken = bool(flag) and not equals and bool(following.text) and following.text[:1] != "-"
        words = (argument, following) if taken else (argument,)
        yield (flag, following.text if taken else value), words
