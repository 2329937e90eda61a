"""JSON with Go's texts: each error text below was produced by Go 1.27.3."""

import json
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.golang.json import MAX_DEPTH, GoNumber, GoObject, GoValue, JsonError, as_text, parse, quote
from numafit.golang.text import go_quote


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "unexpected end of JSON input"),
        ('{"a":1,', "unexpected end of JSON input"),
        ('"abc', "unexpected end of JSON input"),
        ('"x\\u1', "unexpected end of JSON input"),
        ("nul", "unexpected end of JSON input"),
        ("1e+", "unexpected end of JSON input"),
        ("hello", "invalid character 'h' looking for beginning of value"),
        ("nulx", "invalid character 'x' in literal null (expecting 'l')"),
        ("NaN", "invalid character 'N' looking for beginning of value"),
        ("-a", "invalid character 'a' in numeric literal"),
        ("1.x", "invalid character 'x' in numeric literal"),
        ("01", "invalid character '1' after top-level value"),
        ("1.5.5", "invalid character '.' after top-level value"),
        ('{"a":1}x', "invalid character 'x' after top-level value"),
        ('{"a":1,}', "invalid character '}' looking for beginning of object key string"),
        ("{a:1}", "invalid character 'a' looking for beginning of object key string"),
        ('{"a" 1}', "invalid character '1' after object key"),
        ('{"a":1 "b":2}', "invalid character '\"' after object key:value pair"),
        ("[1 2]", "invalid character '2' after array element"),
        ("[1,]", "invalid character ']' looking for beginning of value"),
        ("'", "invalid character '\\'' looking for beginning of value"),
        ('"a\nb"', "invalid character '\\n' in string"),
        ('"a\x00b"', "invalid character '\\x00' in string"),
        ('"\\x"', "invalid escape sequence `\\x` in string"),
        ('"\\u12g4"', "invalid escape sequence `\\u12g4` in string"),
        ('"\\ud83\x7f"', 'invalid escape sequence "\\\\ud83\\x7f" in string'),
        ("\ufeff{}", "invalid character '\\ufeff' looking for beginning of value"),
        (as_text(b"\xffx"), "invalid character '\\xff' looking for beginning of value"),
    ],
)
def test_bad_json_gets_the_text_of_go(text: str, message: str) -> None:
    with pytest.raises(JsonError) as caught:
        parse(text)
    assert str(caught.value) == message


def test_members_keep_their_order_and_their_duplicates() -> None:
    """Go applies object members one after the other, so a decoder needs all of them."""
    expected = GoObject([("b", GoNumber("1.0")), ("a", [True, None]), ("b", GoObject([]))])
    assert parse('{"b":1.0,"a":[true,null],"b":{}}') == expected


def test_each_invalid_byte_becomes_one_replacement_character() -> None:
    """Go replaces byte by byte, other readers per damaged character."""
    assert parse(as_text(b'"\xff\xfe\xed\xa0\x80\xe2\x82"')) == "\ufffd" * 7


def test_lone_surrogates_become_replacement_characters() -> None:
    assert parse('"\\ud800x\\ud83d\\ude00\\udc00"') == "\ufffdx\U0001f600\ufffd"


def test_nesting_is_limited_and_harmless() -> None:
    """Go refuses more than 10000 levels."""
    assert parse("[" * MAX_DEPTH + "]" * MAX_DEPTH) is not None
    with pytest.raises(JsonError, match="exceeded max depth"):
        parse("[" * (MAX_DEPTH + 1))


def test_markup_signs_are_escaped_on_writing() -> None:
    """Go escapes what could end a script element, and leaves DEL alone."""
    assert quote('a<>&\u2028\u2029"\\\b\f\n\x01\x7f/é') == (
        '"a\\u003c\\u003e\\u0026\\u2028\\u2029\\"\\\\\\b\\f\\n\\u0001\x7f/é"'
    )


def test_messages_quote_text_as_go_does() -> None:
    assert go_quote('a"\\\n\x00é\u200b') == '"a\\"\\\\\\n\\x00é\\u200b"'


JSON = st.recursive(
    st.none() | st.booleans() | st.text(max_size=8) | st.integers(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=8,
)


def _plain(node: GoValue) -> object:
    if isinstance(node, GoNumber):
        return int(node.text)
    if isinstance(node, GoObject):
        return {key: _plain(value) for key, value in node.items}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    return node


@given(JSON, st.booleans(), st.sampled_from([None, 1]))
def test_what_another_writer_wrote_is_read_back(value: object, ascii_only: bool, indent: int | None) -> None:
    assert _plain(parse(json.dumps(value, ensure_ascii=ascii_only, indent=indent))) == value


@given(st.text())
def test_quoted_text_is_read_back(text: str) -> None:
    assert parse(quote(text)) == text
    assert not set("<>&\u2028\u2029") & set(quote(text))


@given(st.binary() | st.text(alphabet='{}[]":,\\u0123eE+-.truefalsn \n').map(str.encode))
def test_arbitrary_bytes_give_a_tree_or_the_named_error(data: bytes) -> None:
    with suppress(JsonError):
        tree = parse(as_text(data))
        assert (json.loads(data.decode("utf-8", "replace")) is None) == (tree is None)
