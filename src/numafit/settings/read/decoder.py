"""A KubeletConfiguration file into typed fields, as the kubelet decodes it: same errors, same tolerance.

Go's JSON decoder goes on after a value of the wrong type and reports the first such value at the end; a value that a
type of its own reads (a duration, a quantity) stops it at once. Unknown fields are tolerated, as the kubelet only logs
them, and listed.
"""

from collections.abc import Callable, Mapping
from functools import cache
from typing import NamedTuple

from numafit.errors import FieldPath, KubeletError
from numafit.golang.text import bool_text, in_byte_order, number_text, parse_duration, quoted
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.tables.fields import FIELDS
from numafit.settings.versions import KubeVersion, behaviour_of

API_VERSION = "kubelet.config.k8s.io/v1beta1"
KIND = "KubeletConfiguration"
_ROOT = "v1beta1.KubeletConfiguration"
_META = "couldn't get version/kind; json parse error: json: cannot unmarshal"
_META_TYPE = 'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }'

DECODE_FAILED = "failed to decode: "
"""What the kubelet says of its file before the text of a `DecodeError`."""


class DecodeError(KubeletError):
    """The kubelet cannot decode the file; the text is the kubelet's."""


class DecodedConfig(NamedTuple):
    fields: dict[str, object]
    """Fields of the file that the release knows, without those that are null."""
    unknown: tuple[FieldPath, ...]
    """Fields that the release does not know, in the order of the file."""


class _Place(NamedTuple):
    """Where Go's decoder stands: the innermost struct, and the names from the root."""

    struct: str
    names: tuple[str, ...]
    path: FieldPath

    def into(self, go_type: str) -> str:
        return f"Go struct field {self.struct.split('.')[-1]}.{'.'.join(self.names)} of type {go_type}"


def decode_config(document: object, version: KubeVersion, *, text: str, sort_keys: bool) -> DecodedConfig:
    """`document` is parsed JSON or YAML, `text` the file as it was written.

    `sort_keys`: a YAML file, whose keys the kubelet sorts before it decodes them.
    """
    _check_kind(document, version, text)
    decoder = _Decoder(version.minor, sort_keys)
    fields = decoder.struct(document, _ROOT, _Place(_ROOT, (), ()))
    if decoder.error is not None:
        raise decoder.error
    return DecodedConfig(fields, tuple(decoder.unknown))


def unknown_fields(document: object, version: KubeVersion) -> tuple[FieldPath, ...]:
    """The fields of a document that the release does not know, whatever else is wrong with it."""
    decoder = _Decoder(version.minor, sort_keys=False, stops=False)
    decoder.struct(document, _ROOT, _Place(_ROOT, (), ()))
    return tuple(decoder.unknown)


def _check_kind(document: object, version: KubeVersion, text: str) -> None:
    if document is None:
        document = {}
    if not isinstance(document, dict):
        problem = f"{_META} {_kind_of(document)} into Go value of type {_META_TYPE}"
        raise DecodeError(problem, code="decode-kind-type")
    names = []
    for key in ("apiVersion", "kind"):
        value = document.get(key)
        if not isinstance(value, str | None):
            problem = f"{_META} {_kind_of(value)} into Go struct field .{key} of type string"
            raise DecodeError(problem, code="decode-kind-type", field=(key,))
        names.append(value or "")
    api_version, kind = names
    if api_version.count("/") > 1:
        raise DecodeError(f"unexpected GroupVersion string: {api_version}", code="api-version", field=("apiVersion",))
    missing = "Kind" if not kind else "" if api_version.rpartition("/")[2] else "apiVersion"
    if missing:
        problem = f"Object '{missing}' is missing in"
        raise DecodeError(f"{problem} '{text}'", code="kind-missing", facts={"short": f"{problem} '…'"})
    if (api_version, kind) != (API_VERSION, KIND):
        raise DecodeError(
            f"no kind {quoted(kind)} is registered for version {quoted(api_version)} in scheme "
            f'"pkg/kubelet/apis/config/scheme/scheme.go:{behaviour_of(version).scheme_line}"',
            code="kind-unknown",
            field=("apiVersion" if kind == KIND else "kind",),
        )


class _Decoder:
    """One walk over one document; keeps the first type error and the unknown fields."""

    def __init__(self, minor: int, sort_keys: bool, *, stops: bool = True) -> None:
        """`stops`: at a value that a type of its own refuses, as Go does."""
        self.minor = minor
        self.sort_keys = sort_keys
        self.stops = stops
        self.error: DecodeError | None = None
        self.unknown: list[FieldPath] = []

    def struct(self, value: object, go_type: str, place: _Place) -> dict[str, object]:
        if not isinstance(value, dict):
            self._mismatch(value, go_type, place)
            return {}
        types = _types_of(go_type, self.minor)
        found: dict[str, object] = {}
        for key in self._keys(value):
            here = _Place(go_type, (*place.names, key), (*place.path, key))
            if key not in types:
                if place.path or key not in ("apiVersion", "kind"):
                    self.unknown.append(here.path)
                continue
            decoded = self._value(value[key], types[key], here)
            if decoded is not None:
                found[key] = decoded
        return found

    def _value(self, value: object, go_type: str, place: _Place) -> object:
        try:
            return self._typed(value, go_type, place)
        except DecodeError:
            if self.stops:
                raise
            return None

    def _typed(self, value: object, go_type: str, place: _Place) -> object:
        if go_type == "any":
            return value
        if go_type.endswith("duration"):
            return self._duration(value, place, nullable=go_type.startswith("*"))
        if value is None:
            return None
        if go_type == "v1.ResourceList":
            return self._map(value, go_type, place, lambda item, at: _quantity(item, at.path))
        if go_type.startswith("map[string]"):
            element = go_type.removeprefix("map[string]")
            return self._map(value, go_type, place, lambda item, at: self._element(item, element, at))
        if go_type.startswith("[]"):
            return self._list(value, go_type, place)
        if go_type in FIELDS:
            return self.struct(value, go_type, place)
        return self._scalar(value, go_type, place)

    def _scalar(self, value: object, go_type: str, place: _Place) -> object:
        base, _, name = go_type.partition("/")
        shown = name or base
        if base == "string" and isinstance(value, str):
            return value
        if base == "bool" and isinstance(value, bool):
            return value
        if isinstance(value, int | float) and not isinstance(value, bool):
            if base == "float64":
                return float(value)
            if base in ("int32", "int64"):
                half = 1 << (int(base[3:]) - 1)
                # `1e2` is a whole number in YAML, whose numbers the kubelet rewrites, and none in JSON
                whole = isinstance(value, int) or (self.sort_keys and value.is_integer())
                if whole and -half <= value < half:
                    return int(value)
                self._mismatch(value, shown, place, f" {number_text(value)}")
                return None
        self._mismatch(value, shown, place)
        return None

    def _map(
        self, value: object, go_type: str, place: _Place, element: Callable[[object, _Place], object]
    ) -> dict[str, object] | None:
        if not isinstance(value, dict):
            self._mismatch(value, go_type, place)
            return None
        return {key: element(value[key], place._replace(path=(*place.path, key))) for key in self._keys(value)}

    def _list(self, value: object, go_type: str, place: _Place) -> tuple[object, ...] | None:
        element = go_type.removeprefix("[]")
        if not isinstance(value, list):
            self._mismatch(value, go_type, place)
            return None
        return tuple(
            self._element(item, element, place._replace(path=(*place.path, index))) for index, item in enumerate(value)
        )

    def _element(self, value: object, go_type: str, place: _Place) -> object:
        """A null inside a map or list is the zero value."""
        if value is not None:
            return self._value(value, go_type, place)
        if go_type == "bool":
            return False
        if go_type in FIELDS:
            return {}
        return "" if go_type == "string" else None

    def _duration(self, value: object, place: _Place, *, nullable: bool) -> str | None:
        if value is None and nullable:
            return None
        if value is not None and not isinstance(value, str):
            raise _type_error(value, "string", place)
        text = value or ""
        try:
            parse_duration(text)
        except KubeletError as error:
            raise DecodeError(str(error), code="decode-duration", field=place.path) from None
        return text

    def _keys(self, value: Mapping[str, object]) -> list[str]:
        return in_byte_order(value) if self.sort_keys else list(value)

    def _mismatch(self, value: object, go_type: str, place: _Place, number: str = "") -> None:
        if self.error is None:
            self.error = _type_error(value, go_type, place, number)


def _type_error(value: object, go_type: str, place: _Place, number: str = "") -> DecodeError:
    found = _kind_of(value)
    text = f"json: cannot unmarshal {found}{number} into {place.into(go_type)}"
    facts = {"found": found, "wanted": go_type}
    if isinstance(value, bool | int | float):
        facts["value"] = number_text(value) if not isinstance(value, bool) else bool_text(value)
    return DecodeError(text, code="decode-type", field=place.path, facts=facts)


def _quantity(value: object, path: FieldPath) -> Quantity:
    """Quantities read the JSON text itself, so a number is fine and anything else is no quantity."""
    if value is None:
        return parse_quantity("0")
    if isinstance(value, str):
        text = value.strip()
    elif isinstance(value, int | float) and not isinstance(value, bool):
        text = number_text(value)
    else:
        text = _kind_of(value)
    try:
        return parse_quantity(text)
    except KubeletError as error:
        raise DecodeError(str(error), code="decode-quantity", field=path) from None


def _kind_of(value: object) -> str:
    if isinstance(value, str):
        return "string"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, int | float):
        return "number"
    return "array" if isinstance(value, list | tuple) else "object"


@cache
def _types_of(go_type: str, minor: int) -> dict[str, str]:
    """Field -> Go type, for the fields that the minor has."""
    types: dict[str, str] = {}
    for row in FIELDS[go_type].split(";"):
        words = row.split()
        if not words:
            continue
        first, _, last = words[2].partition("-") if len(words) > 2 else ("20", "-", "")
        if int(first) <= minor and (not last or minor <= int(last)):
            types[words[0]] = words[1]
    return types


def known_fields(version: KubeVersion) -> frozenset[str]:
    """The fields of a KubeletConfiguration of the release."""
    return frozenset(_types_of(_ROOT, version.minor))
