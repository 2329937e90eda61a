"""Decoding rules of Go, seen through small types; every text was produced by Go 1.27.3."""

import msgspec
import pytest

from numafit.golang.containers import GoField, GoStruct, List, NumberMap, Pointer, TextMap
from numafit.golang.types import Bytes, Text, Whole, dumped, unmarshal


class Thing(msgspec.Struct, frozen=True):
    name: str = ""
    count: int = 0
    raw: bytes | None = None
    ids: tuple[int, ...] | None = None
    places: dict[int, str] | None = None
    words: dict[str, str] | None = None


INT = Whole("int", 64, signed=True)
THING = GoStruct(
    "state.Thing",
    Thing,
    GoField("Name", "name", "name", Text()),
    GoField("Count", "assignments", "count", Whole("uint64", 64, signed=False)),
    GoField("Raw", "raw", "raw", Bytes()),
    GoField("IDs", "ids", "ids", List(INT)),
    GoField("Places", "places", "places", NumberMap(INT, Text())),
    GoField("Words", "words", "words", TextMap(Text()), omit_empty=True),
)


def read(text: str) -> tuple[Thing, str]:
    thing, error = unmarshal(text, THING, Thing())
    return thing, str(error or "")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[]", "json: cannot unmarshal array into Go value of type state.Thing"),
        ('{"name":3}', "json: cannot unmarshal number into Go struct field Thing.name of type string"),
        ('{"NAME":{}}', "json: cannot unmarshal object into Go struct field Thing.NAME of type string"),
        (
            '{"assignments":-0}',
            "json: cannot unmarshal number -0 into Go struct field Thing.assignments of type uint64",
        ),
        (
            '{"assignments":1.0}',
            "json: cannot unmarshal number 1.0 into Go struct field Thing.assignments of type uint64",
        ),
        (
            '{"assignments":18446744073709551616}',
            "json: cannot unmarshal number 18446744073709551616 into Go struct field Thing.assignments of type uint64",
        ),
        ('{"ids":[1,true]}', "json: cannot unmarshal bool into Thing.ids.1 of type int"),
        ('{"ids":{}}', "json: cannot unmarshal object into Go struct field Thing.ids of type []int"),
        ('{"places":{"x":"a"}}', "json: cannot unmarshal number x into Go struct field Thing.places.x of type int"),
        ('{"words":{"a/b":1}}', "json: cannot unmarshal number into Go struct field Thing.words.a~1b of type string"),
        (
            '{"raw":"QU=x"}',
            "json: cannot unmarshal string into Go struct field Thing.raw of type []uint8: "
            "illegal base64 data at input byte 2",
        ),
        ('{"raw":[1,256]}', "json: cannot unmarshal number 256 into Thing.raw.1 of type uint8"),
    ],
)
def test_a_mismatch_is_named_as_go_names_it(text: str, message: str) -> None:
    assert read(text)[1] == message


def test_decoding_goes_on_after_a_mismatch_and_the_first_one_is_reported() -> None:
    value, error = read('{"name":3,"assignments":"x","ids":[7,"y",9]}')
    assert value == Thing(ids=(7, 0, 9))
    assert error.endswith("Thing.name of type string")


def test_field_names_match_without_regard_to_case_but_nothing_else() -> None:
    """The Kelvin sign and the long s fold; ß is no ss."""
    text = '{"NAME":"a","a\u017f\u017fignments":5,"na_me":"b","a\u00dfignments":6}'
    assert read(text) == (Thing(name="a", count=5), "")


def test_null_empties_containers_and_leaves_scalars_alone() -> None:
    text = '{"name":"a","name":null,"ids":[1],"ids":null,"words":{"a":"b"},"words":null,"raw":"AQ==","raw":null}'
    assert read(text) == (Thing(name="a"), "")


def test_repeated_fields_merge_maps_and_lists_but_repeated_keys_replace() -> None:
    text = '{"words":{"a":"1","b":"2"},"Words":{"b":"3","b":null},"ids":[1,2],"IDS":[null,7,null]}'
    assert read(text) == (Thing(words={"a": "1", "b": ""}, ids=(1, 7, 0)), "")


def test_number_keys_may_have_a_sign_and_leading_zeros() -> None:
    assert read('{"places":{"+1":"a","01":"b","-0":"c"}}') == (Thing(places={1: "b", 0: "c"}), "")


def test_base64_ignores_line_ends_and_stray_low_bits() -> None:
    assert read('{"raw":"QU\\nJ=\\r"}') == (Thing(raw=b"AB"), "")


def test_json_sorts_number_keys_as_text_and_the_dump_by_value() -> None:
    thing = Thing(places={10: "x", 2: "y", -1: "z"})
    assert '"places":{"-1":"z","10":"x","2":"y"}' in THING.encode(thing)
    assert "Places:(map[int]string)map[-1:z 2:y 10:x]" in dumped(THING, thing)


def test_nil_and_empty_differ_in_the_dump() -> None:
    expected = (
        "(*state.Other){Name:(string) Count:(uint64)0 Raw:([]uint8)[] IDs:([]int)<nil> Places:(map[int]string)<nil> "
        "Words:(map[string]string)map[]}"
    )
    assert dumped(THING, Thing(raw=b"", words={}), pointer_to="state.Other") == expected


def test_an_empty_field_is_left_out_only_where_it_says_so() -> None:
    expected = '{"name":"","assignments":0,"raw":null,"ids":null,"places":null}'
    assert THING.encode(Thing(words={})) == expected


def test_pointers_in_a_map_print_a_star_and_nil_hides_the_next_type() -> None:
    """Seen with go-spew 1.1.1, which every kubelet uses."""

    class Pair(msgspec.Struct, frozen=True):
        first: dict[str, Thing | None] | None = None
        second: tuple[int, ...] | None = None

    pair = GoStruct(
        "state.Pair",
        Pair,
        GoField(
            "First", "first", "first", TextMap(Pointer(GoStruct("state.T", Thing, GoField("N", "n", "name", Text()))))
        ),
        GoField("Second", "second", "second", List(INT)),
    )
    assert dumped(pair, Pair({"a": Thing("x")}, (1, 2))) == (
        "(state.Pair){First:(map[string]*state.T)map[a:<*>{N:(string)x}] Second:([]int)[1 2]}"
    )
    assert (
        dumped(pair, Pair({"a": None}, (1, 2))) == "(state.Pair){First:(map[string]*state.T)map[a:<nil>] Second:[1 2]}"
    )
    assert unmarshal('{"first":{"a":null,"b":{"n":"x"}}}', pair, Pair()) == (
        Pair({"a": None, "b": Thing("x", *BLANK)}),
        None,
    )


BLANK = (0, None, None, None, None)
