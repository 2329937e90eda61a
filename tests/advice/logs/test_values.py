"""Hints as three generations of kubelets print them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.advice.logs.values import LogValueError, parse_cpus, parse_hint, parse_hint_map
from tests.advice.logs.log_text import go_hint, json_hint

MASKS = st.none() | st.integers(1, (1 << 64) - 1)
HINTS = st.lists(st.tuples(MASKS, st.booleans()), max_size=6)
RESOURCES = st.sampled_from(["cpu", "memory", "hugepages-2Mi", "nvidia.com/gpu", "example.com/a_b.c"])
MAPS = st.dictionaries(RESOURCES, HINTS, max_size=4)


@given(MAPS, st.booleans())
def test_go_values_are_read_as_they_were_written(hints: dict[str, list[tuple[int | None, bool]]], named: bool) -> None:
    """1.20 without field names, 1.21 to 1.27 with them; masks in binary."""
    lists = {key: "[" + " ".join(go_hint(*hint, named=named) for hint in own) + "]" for key, own in hints.items()}
    text = "map[" + " ".join(f"{key}:{own}" for key, own in lists.items()) + "]"
    assert parse_hint_map(text) == {key: tuple(own) for key, own in hints.items()}
    for own in hints.values():
        for hint in own:
            assert parse_hint(go_hint(*hint, named=named)) == hint


@given(MAPS)
def test_json_values_are_read_as_they_were_written(hints: dict[str, list[tuple[int | None, bool]]]) -> None:
    """1.28 on; masks in decimal."""
    lists = {key: "[" + ",".join(json_hint(*hint) for hint in own) + "]" for key, own in hints.items()}
    text = "{" + ",".join(f'"{key}":{own}' for key, own in lists.items()) + "}"
    assert parse_hint_map(text) == {key: tuple(own) for key, own in hints.items()}


def test_json_tells_no_preference_from_cannot_be_satisfied() -> None:
    """A nil list is `null`, an empty one `[]`; a provider without any preference is `{}` or `null` (1.28 on)."""
    assert parse_hint_map('{"cpu":null,"memory":[]}') == {"cpu": None, "memory": ()}
    assert (parse_hint_map("null"), parse_hint_map("{}"), parse_hint_map("map[]")) == (None, {}, {})


@given(st.text(max_size=60))
def test_any_other_text_is_refused_in_one_way(text: str) -> None:
    """Cut lines and foreign text raise LogValueError, nothing else."""
    for parse in (parse_hint, parse_hint_map, parse_cpus):
        try:
            parse(text)
        except LogValueError:
            continue


@pytest.mark.parametrize(
    "text",
    ["map[cpu:[{01 true} {10 tr", "map[cpu:[{01 true}{2 true}]]", '{"cpu":[{"NUMANodeAffinity":-1,"Preferred":true}]}'],
)
def test_a_cut_or_impossible_map_is_refused(text: str) -> None:
    with pytest.raises(LogValueError):
        parse_hint_map(text)


def test_the_alignment_behind_a_cpu_list_is_left_away() -> None:
    """`result="1-3 aligned=<uncore:true>"` (1.33 on)."""
    assert parse_cpus("1-3 aligned=<uncore:true>") == 0b1110
