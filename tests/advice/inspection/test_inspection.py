"""Every mistake of a kubelet is found, whatever else is wrong with it, and nothing that is none."""

from itertools import combinations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from numafit.advice.doctor.checkup import examine
from numafit.advice.lint.lint import LintFile, lint
from numafit.decision.start import Start
from numafit.errors import InputError
from numafit.settings.versions import parse_version
from tests.advice.inspection.mistakes import DROP_IN, ENV, FILE, KINDS, Kind, Planted, planted, together
from tests.decision.strategies import GI, box

VERSION = parse_version("1.36")
_PLAIN = box(2, 8, 2, memory=16 * GI)
BOX = replace(_PLAIN, numa_nodes=tuple(replace(node, distances=(10, 20)) for node in _PLAIN.numa_nodes))
BY_NAME = {kind.name: kind for kind in KINDS}


def linted(text: Planted, *, machine: bool) -> dict[tuple[str, int], str]:
    """(source, line) -> code, of what was planted and of all errors."""
    sources = [
        LintFile(FILE, text.file.encode()),
        LintFile(ENV, text.env.encode()),
        LintFile(DROP_IN, text.drop_in.encode()),
    ]
    report = lint(sources, VERSION, BOX if machine else None)
    return {
        (each.place.source, each.place.line): each.code
        for each in report.findings
        if each.severity == "error" or each.code == "NF201"
    }


def examined(text: Planted) -> list[tuple[str, int | None]]:
    checkup = examine(Start(version=VERSION, sources=text.sources(), machine=BOX))
    return [
        (found.place, found.line)
        for found in checkup.findings
        if found.severity == "error" or found.code == "unknown-field"
    ]


def test_there_are_kinds_enough() -> None:
    assert len(KINDS) >= 25
    assert len(BY_NAME) == len(KINDS)


def test_the_configuration_that_mistakes_are_planted_in_is_right() -> None:
    assert linted(planted(()), machine=True) == {}
    assert examined(planted(())) == []


def test_drop_in_files_of_a_release_without_them_are_no_mistake_of_the_kubelet() -> None:
    """Up to 1.27 no kubelet would read them, so none refuses them: numafit asks what is meant."""
    known = Start(version=parse_version("1.27"), sources=planted(()).sources(), machine=BOX)
    with pytest.raises(InputError, match=r"has no --config-dir"):
        examine(known)


@pytest.mark.parametrize("name", BY_NAME)
def test_each_mistake_alone_is_found_and_nothing_else(name: str) -> None:
    text = planted((BY_NAME[name],))
    assert linted(text, machine=True) == text.expected
    assert examined(text) == list(text.expected)
    if not BY_NAME[name].machine:
        assert linted(text, machine=False) == text.expected


def test_each_pair_of_mistakes_is_found() -> None:
    """Those of which one does not keep the other from being judged."""
    pairs = [pair for pair in combinations(KINDS, 2) if together(pair)]
    assert len(pairs) > 600
    for pair in pairs[::7]:
        text = planted(pair)
        assert linted(text, machine=True) == text.expected, pair


@settings(max_examples=80, deadline=None)
@given(st.lists(st.sampled_from(KINDS), min_size=3, max_size=9, unique_by=lambda kind: kind.name), st.booleans())
def test_all_mistakes_are_found_at_once(drawn: list[Kind], machine: bool) -> None:
    """In one run of lint and in one of the doctor, each at its line, and no other error."""
    kinds: tuple[Kind, ...] = ()
    for kind in drawn:
        if together((*kinds, kind)) and (machine or not kind.machine):
            kinds = (*kinds, kind)
    text = planted(kinds)
    assert linted(text, machine=machine) == text.expected
    if machine:
        assert sorted(examined(text)) == sorted(text.expected)


@settings(max_examples=60, deadline=None)
@given(st.lists(st.sampled_from(KINDS), max_size=25, unique_by=lambda kind: kind.name), st.booleans())
def test_nothing_is_found_that_nobody_planted(drawn: list[Kind], machine: bool) -> None:
    """Also where mistakes keep each other from being judged: what stands on them is listed, and not guessed at."""
    kinds = tuple(kind for kind in drawn if machine or not kind.machine)
    text = planted(kinds)
    assert linted(text, machine=machine).keys() <= text.expected.keys()
    assert set(examined(text)) <= set(text.expected)
