"""The rules that differ between releases, in words."""

import pytest

from numafit.advice.compare import RULES, rule_changes
from numafit.settings.versions import Behaviour, parse_version


def test_every_rule_of_the_version_table_has_its_words() -> None:
    assert set(RULES) == set(Behaviour.__struct_fields__)


def test_words_are_told_apart() -> None:
    assert len(set(RULES.values())) == len(RULES)


def test_only_rules_that_differ_are_listed_with_their_release() -> None:
    """1.23 to 1.24: the merge, the pool of siblings, taints, and two texts of the configuration."""
    changes = {change.field: change for change in rule_changes(parse_version("1.23.17"), parse_version("1.24.17"))}
    assert set(changes) == {
        "release_keeps_siblings",
        "merge_equal_masks",
        "must_be_one_of",
        "reserved_memory_groups",
        "taints_checked",
    }
    assert (changes["merge_equal_masks"].was, changes["merge_equal_masks"].becomes) == ("no", "yes")
    assert {change.since for change in changes.values()} == {"1.24"}


@pytest.mark.parametrize(("old", "new"), [("1.36", "1.36"), ("1.34.1", "1.34.11")])
def test_releases_with_the_same_rules_have_none_that_differ(old: str, new: str) -> None:
    assert rule_changes(parse_version(old), parse_version(new)) == ()


def test_a_downgrade_turns_the_rules_round() -> None:
    up, down = (rule_changes(*map(parse_version, pair)) for pair in (("1.27", "1.36"), ("1.36", "1.27")))
    assert [(change.field, change.becomes, change.was, change.since) for change in up] == [
        (change.field, change.was, change.becomes, change.since) for change in down
    ]
