"""Decoding a KubeletConfiguration. The texts were compared with the kubelet's own decoder (types of 1.35)."""

from collections.abc import Mapping

import pytest

from numafit.quantity import parse_quantity
from numafit.settings.read.decoder import DecodedConfig, DecodeError, decode_config, known_fields, unknown_fields
from numafit.settings.versions import parse_version

NEWEST = parse_version("1.36.4")
HEAD = {"apiVersion": "kubelet.config.k8s.io/v1beta1", "kind": "KubeletConfiguration"}


def decoded(fields: Mapping[str, object], release: str = "1.36.4", *, yaml: bool = False) -> DecodedConfig:
    return decode_config({**HEAD, **fields}, parse_version(release), text="", sort_keys=yaml)


def refusal(fields: Mapping[str, object], *, yaml: bool = False) -> str:
    with pytest.raises(DecodeError) as refused:
        decoded(fields, yaml=yaml)
    return str(refused.value)


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({"cpuManagerPolicy": "static"}, "Object 'Kind' is missing in 'THE TEXT'"),
        (None, "Object 'Kind' is missing in 'THE TEXT'"),
        ({"kind": "KubeletConfiguration"}, "Object 'apiVersion' is missing in 'THE TEXT'"),
        (
            {"kind": "KubeletConfiguration", "apiVersion": "a/b/c"},
            "unexpected GroupVersion string: a/b/c",
        ),
        (
            HEAD | {"kind": "Nope"},
            'no kind "Nope" is registered for version "kubelet.config.k8s.io/v1beta1" in scheme '
            '"pkg/kubelet/apis/config/scheme/scheme.go:33"',
        ),
        (
            HEAD | {"kind": 3},
            "couldn't get version/kind; json parse error: json: cannot unmarshal number into Go struct field .kind "
            "of type string",
        ),
        (
            [],
            "couldn't get version/kind; json parse error: json: cannot unmarshal array into Go value of type "
            'struct { APIVersion string "json:\\"apiVersion,omitempty\\""; Kind string "json:\\"kind,omitempty\\"" }',
        ),
    ],
)
def test_a_file_states_its_kind(document: object, message: str) -> None:
    """Met before any field is looked at."""
    with pytest.raises(DecodeError) as refused:
        decode_config(document, NEWEST, text="THE TEXT", sort_keys=True)
    assert str(refused.value) == message


def test_an_unknown_kind_names_the_source_line_of_its_release() -> None:
    """scheme.go:32 up to 1.25."""
    with pytest.raises(DecodeError, match=r"scheme\.go:32"):
        decode_config({**HEAD, "kind": "Nope"}, parse_version("1.25.0"), text="", sort_keys=True)


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"cpuManagerPolicy": 3}, "number into Go struct field KubeletConfiguration.cpuManagerPolicy of type string"),
        (
            {"cpuManagerPolicyOptions": {"full-pcpus-only": True}},
            "bool into Go struct field KubeletConfiguration.cpuManagerPolicyOptions of type string",
        ),
        (
            {"cpuManagerPolicyOptions": ["full-pcpus-only"]},
            "array into Go struct field KubeletConfiguration.cpuManagerPolicyOptions of type map[string]string",
        ),
        ({"maxPods": 1.5}, "number 1.5 into Go struct field KubeletConfiguration.maxPods of type int32"),
        ({"maxPods": 1 << 31}, "number 2147483648 into Go struct field KubeletConfiguration.maxPods of type int32"),
        ({"cgroupsPerQOS": "true"}, "string into Go struct field KubeletConfiguration.cgroupsPerQOS of type bool"),
        (
            {"enforceNodeAllocatable": "pods"},
            "string into Go struct field KubeletConfiguration.enforceNodeAllocatable of type []string",
        ),
        (
            {"reservedMemory": [{"numaNode": "0"}]},
            "string into Go struct field MemoryReservation.reservedMemory.numaNode of type int32",
        ),
        (
            {"reservedMemory": {"numaNode": 0}},
            "object into Go struct field KubeletConfiguration.reservedMemory of type []v1beta1.MemoryReservation",
        ),
        (
            {"reservedMemory": [{"limits": []}]},
            "array into Go struct field MemoryReservation.reservedMemory.limits of type v1.ResourceList",
        ),
        (
            {"authentication": {"anonymous": {"enabled": "no"}}},
            "string into Go struct field KubeletAnonymousAuthentication.authentication.anonymous.enabled of type bool",
        ),
        (
            {"cpuManagerReconcilePeriod": 5},
            "number into Go struct field KubeletConfiguration.cpuManagerReconcilePeriod of type string",
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_named_with_its_go_field(fields: dict[str, object], message: str) -> None:
    """The innermost struct and the path from the root."""
    assert refusal(fields) == f"json: cannot unmarshal {message}"


def test_the_first_wrong_type_is_reported() -> None:
    """In the order of a JSON file; a YAML file's keys are sorted first."""
    fields = {"maxPods": "3", "cpuManagerPolicy": 3}
    assert "KubeletConfiguration.maxPods" in refusal(fields)
    assert "KubeletConfiguration.cpuManagerPolicy" in refusal(fields, yaml=True)


def test_a_bad_quantity_or_duration_goes_before_wrong_types() -> None:
    """Types that read themselves stop the decoder at once."""
    fields = {"cpuManagerPolicy": 3, "cpuManagerReconcilePeriod": "5"}
    assert refusal(fields) == 'time: missing unit in duration "5"'
    limits = {"memory": "1Gx"}
    assert refusal({"cpuManagerPolicy": 3, "reservedMemory": [{"limits": limits}]}) == (
        "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
    )


def test_null_is_the_same_as_a_missing_field() -> None:
    """But the zero value inside a map or list."""
    fields = {"evictionHard": None, "kubeReserved": {"cpu": None}, "enforceNodeAllocatable": [None]}
    assert decoded(fields).fields == {"kubeReserved": {"cpu": ""}, "enforceNodeAllocatable": ("",)}
    assert refusal({"cpuManagerReconcilePeriod": None}) == 'time: invalid duration ""'


def test_quantities_may_be_numbers() -> None:
    """Their text is taken, blanks around it are dropped."""
    limits = {"memory": 1024, "hugepages-2Mi": " 2Mi "}
    assert decoded({"reservedMemory": [{"numaNode": 1, "limits": limits}]}).fields["reservedMemory"] == (
        {"numaNode": 1, "limits": {"memory": parse_quantity("1024"), "hugepages-2Mi": parse_quantity("2Mi")}},
    )


def test_a_number_with_an_exponent_is_whole_only_in_yaml() -> None:
    """The kubelet rewrites YAML as JSON, and 1e2 becomes 100."""
    assert decoded({"maxPods": 1e2}, yaml=True).fields == {"maxPods": 100}
    assert "of type int32" in refusal({"maxPods": 1e2})


def test_unknown_fields_are_tolerated_and_listed() -> None:
    """Names are compared letter by letter; nested fields count too."""
    fields = {"CPUManagerPolicy": "static", "memorySwap": {"behavior": "x"}, "maxPods": 3}
    assert decoded(fields) == DecodedConfig(
        {"memorySwap": {}, "maxPods": 3}, (("CPUManagerPolicy",), ("memorySwap", "behavior"))
    )
    assert unknown_fields({"maxPods": [], "x": 1, "syncFrequency": "?", "y": 1}, NEWEST) == (("x",), ("y",))


@pytest.mark.parametrize(
    ("field", "first"),
    [
        ("cpuManagerPolicyOptions", 22),
        ("reservedMemory", 21),
        ("topologyManagerPolicyOptions", 26),
        ("mergeDefaultEvictionSettings", 33),
        ("topologyManagerScope", 20),
    ],
)
def test_a_field_is_known_from_its_first_minor_on(field: str, first: int) -> None:
    """Before, it is an unknown field and has no effect."""
    knows = [minor for minor in range(20, 38) if field in known_fields(parse_version(f"1.{minor}.0"))]
    assert knows == list(range(first, 38))
