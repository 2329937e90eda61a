"""The table of what each kubelet release does."""

import msgspec
import pytest

from numafit.errors import InputError
from numafit.settings.versions import (
    _CHANGES,
    DEFAULT_VERSION,
    LATEST_PATCH,
    NEWEST_MINOR,
    OLDEST_MINOR,
    Behaviour,
    KubeVersion,
    behaviour_of,
    parse_version,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("v1.27.3", (1, 27, 3)),
        ("1.27.3", (1, 27, 3)),
        (" 1.27 ", (1, 27, LATEST_PATCH)),
        ("v1.27.3-eks-1234", (1, 27, 3)),
        ("v1.27.3+k3s1", (1, 27, 3)),
        ("1.20.0", (1, 20, 0)),
    ],
)
def test_a_version_is_read_as_people_and_vendors_write_it(text: str, expected: tuple[int, int, int]) -> None:
    """Without a patch it is the newest one of the minor."""
    assert parse_version(text) == KubeVersion(*expected)


@pytest.mark.parametrize("text", ["", "latest", "1", "1.27.x", "v1.27.3 beta", "1.२७"])
def test_what_is_no_version_is_refused(text: str) -> None:
    """With an example of one."""
    with pytest.raises(InputError, match=r"is not a kubelet version \(write it like"):
        parse_version(text)


@pytest.mark.parametrize("text", ["1.19.16", "2.0.0", f"1.{NEWEST_MINOR + 1}.0"])
def test_releases_beyond_the_table_are_refused(text: str) -> None:
    """A wrong prediction is worse than none."""
    with pytest.raises(InputError, match=f"not covered .numafit knows 1.{OLDEST_MINOR} to 1.{NEWEST_MINOR}"):
        parse_version(text)


def test_a_version_prints_as_a_tag() -> None:
    """With the v."""
    assert str(parse_version("1.27.3")) == "v1.27.3"
    assert parse_version(str(DEFAULT_VERSION)) == DEFAULT_VERSION


def test_the_oldest_release_behaves_as_the_defaults_say() -> None:
    """No change applies to 1.20.0."""
    assert behaviour_of(KubeVersion(1, 20, 0)) == Behaviour()


def test_every_change_names_a_field_and_a_value_of_its_type() -> None:
    """And every field but those that never change is named by one."""
    names = {field.name for field in msgspec.structs.fields(Behaviour)}
    assert {field for field, _, _ in _CHANGES} == names
    for field, value, _ in _CHANGES:
        msgspec.convert({field: value}, Behaviour)


def test_every_change_changes_something() -> None:
    """Rows of one field stand in the order of the releases, and no row repeats the value before it."""
    values: dict[str, list[object]] = {}
    for field, value, releases in _CHANGES:
        known = values.setdefault(field, [getattr(Behaviour(), field)])
        assert value != known[-1], field
        known.append(value)
        before = behaviour_of(_before(releases[-1]))
        assert getattr(behaviour_of(parse_version(releases[-1])), field) == value
        assert getattr(before, field) == known[-2], field


def _before(release: str) -> KubeVersion:
    """The release right before."""
    version = parse_version(release)
    if version.patch:
        return version._replace(patch=version.patch - 1)
    return version._replace(minor=version.minor - 1, patch=0)


@pytest.mark.parametrize(
    ("version", "expected"),
    [
        ("1.24.17", False),
        ("1.25.9", False),
        ("1.25.10", True),
        ("1.26.4", False),
        ("1.26.5", True),
        ("1.27.1", False),
        ("1.27.2", True),
        ("1.28.0", True),
    ],
)
def test_a_change_that_was_ported_back_holds_in_each_of_these_minors(version: str, expected: bool) -> None:
    """The checks of device health: 1.25.10, 1.26.5, 1.27.2 and everything from 1.28 on."""
    assert behaviour_of(parse_version(version)).device_health_checks == expected


@pytest.mark.parametrize(
    ("version", "expected"),
    [("1.22", True), ("1.23.13", True), ("1.23.14", False), ("1.24.7", True), ("1.25.4", False), ("1.26.0", False)],
)
def test_allocatable_cpus_follow_the_default_pool_up_to_late_patches(version: str, expected: bool) -> None:
    """All CPUs but the reserved ones only from 1.23.14, 1.24.8 and 1.25.4 on."""
    assert behaviour_of(parse_version(version)).allocatable_is_default == expected


@pytest.mark.parametrize(
    ("version", "expected"), [("1.22.0", False), ("1.22.1", True), ("1.31.99", True), ("1.32.0", False)]
)
def test_a_behaviour_may_come_and_go(version: str, expected: bool) -> None:
    """The pod asked about last is remembered from 1.22.1 to 1.31."""
    assert behaviour_of(parse_version(version)).remembers_pending_pod == expected


def test_a_minor_without_a_patch_has_all_back_ports() -> None:
    """1.25 is its newest patch."""
    assert behaviour_of(parse_version("1.25")) == behaviour_of(parse_version("1.25.16"))


@pytest.mark.parametrize(
    ("field", "values"),
    [
        ("cpu_sort", {20: "sockets-unordered", 21: "sockets-unordered", 22: "sockets", 23: "numa", 36: "numa"}),
        ("merge_equal_masks", {23: False, 24: True}),
        ("memory_group_check", {31: False, 32: True}),
        ("device_own_nodes", {35: False, 36: True}),
        ("device_unplaced", {22: 0, 23: -1}),
        ("sidecars", {28: False, 29: True}),
        ("pod_level", {33: "ignored", 34: "skipped", 36: "managed"}),
        ("not_enough_numbers", {28: False, 29: True}),
        ("memory_zero_checksum", {35: False, 36: True}),
    ],
)
def test_the_differences_that_change_decisions(field: str, values: dict[int, object]) -> None:
    """The minor before and the minor after."""
    found = {minor: getattr(behaviour_of(parse_version(f"1.{minor}")), field) for minor in values}
    assert found == values
