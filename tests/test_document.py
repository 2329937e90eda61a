import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit import document
from numafit.document import DEEPEST, Document, field_text, read_document, read_documents
from numafit.errors import InputError

POD = """\
spec:
  containers:
  - name: app
    resources:
      limits: {cpu: "4", nvidia.com/gpu: 1}
"""


def only(text: str | bytes) -> object:
    return read_document(text).value


def error_of(text: str | bytes) -> InputError:
    with pytest.raises(InputError) as error:
        read_documents(text, "pod.yaml")
    return error.value


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("yes", True),
        ("Off", False),
        ("n", False),
        ("~", None),
        ("", None),
        ("010", 8),
        ("0o17", 15),
        ("0x1F", 31),
        ("-0b11", -3),
        ("1_000", 1000),
        ("08", 8.0),
        ("1e3", 1000.0),
        (".5", 0.5),
        ("18446744073709551615", 2**64 - 1),
        ("18446744073709551616", float(2**64)),
        ("1e999", "1e999"),
        ("1:30", "1:30"),
        ("2001-01-01", "2001-01-01"),
        ("16Gi", "16Gi"),
        ("'5'", "5"),
        ('"no"', "no"),
        ("!!str 5", "5"),
        ('!!int "5"', 5),
        ("!ours x", "x"),
    ],
)
def test_resolves_scalars_as_kubernetes_does(written: str, value: object) -> None:
    """sigs.k8s.io/yaml: YAML 1.1 words and numbers, no sexagesimals, dates stay texts, quoted is text."""
    assert only(f"a: {written}") == {"a": value}
    assert type(only(f"- {written}")[0]) is type(value)  # type: ignore[index]


def test_makes_texts_of_keys() -> None:
    """A bare `on` as a key is the boolean, whose text is `true`."""
    assert only("{1: a, on: b, x: c}") == {"1": "a", "true": "b", "x": "c"}


def test_merges_mappings() -> None:
    """Own keys win over merged ones, earlier merged mappings over later ones."""
    text = "a: &a {x: 1, p: 1}\nb: &b {p: 2, z: 2}\nc:\n  <<: [*a, *b]\n  x: 0\nd: {'<<': 5}\n"
    assert only(text) == {
        "a": {"x": 1, "p": 1},
        "b": {"p": 2, "z": 2},
        "c": {"x": 0, "p": 1, "z": 2},
        "d": {"<<": 5},
    }


def test_reads_several_documents_and_skips_empty_ones() -> None:
    documents = read_documents("---\na: 1\n---\n---\n# nothing\n---\nb: 2\n")
    assert [document.value for document in documents] == [{"a": 1}, {"b": 2}]
    assert documents[1].place(()) == (7, 1)


def test_knows_the_place_of_each_value() -> None:
    document = read_document(POD)
    limits = ("spec", "containers", 0, "resources", "limits")
    assert document.place((*limits, "cpu")) == (5, 21)
    assert document.place((*limits, "nvidia.com/gpu"), key=True) == (5, 26)
    assert document.place((*limits, "memory")) == (5, 15)


def test_names_the_field_of_an_error() -> None:
    path = ("spec", "containers", 0, "resources", "limits", "nvidia.com/gpu")
    error = read_document(POD, "pod.yaml").error("too many", path, cure="ask for less")
    field = "spec.containers[0].resources.limits[nvidia.com/gpu]"
    assert str(error) == f"pod.yaml:5:42: {field}: too many (ask for less)"
    assert field_text(path[:3]) == "spec.containers[0]"


def test_finds_the_places_of_json_when_they_are_needed() -> None:
    document = read_document('{"a": [1,\n {"b": "x"}]}')
    assert (document.value, document.place(("a", 1, "b"))) == ({"a": [1, {"b": "x"}]}, (2, 8))


@pytest.mark.parametrize(
    ("text", "line", "column", "part"),
    [
        ("a: 1\nb: 2\na: 3\n", 3, 1, 'the key "a" stands here a second time, first in line 1'),
        ('{"a": 1,\n "a": 2}', 2, 2, 'the key "a" stands here a second time, first in line 1'),
        ("a:\n\t- b", 2, 1, "indent with blanks, not with tabs"),
        ("a: b: c", 1, 5, "mapping values are not allowed"),
        ("a: [1,", 2, 1, "not YAML"),
        ("a: *x", 1, 4, "there is no anchor x"),
        ("a: &x\n- *x", 2, 3, "the value of anchor x contains itself"),
        ("? [1]\n: 2", 1, 3, "a key must be a text"),
        ("~: 1", 1, 1, "a key must be a text"),
        ("<<: 1", 1, 5, "<< needs a mapping"),
        ("a: .nan", 1, 4, "not a number that Kubernetes takes"),
        ("a: !!int x", 1, 4, "does not fit the tag"),
        ("a: 1\nb: \x01", 2, 4, "character U+0001 is not allowed"),
        (b"a: 1\nb: \xff", 2, 4, "byte 0xff is not UTF-8"),
        ("\ud800", 1, 1, "is not UTF-8"),
        ('{"a": "\\ud800"}', 1, 10, "not YAML"),
        ("[" * 100_000, 1, DEEPEST + 1, "nested more than 100 levels deep"),
    ],
)
def test_refuses_bad_input_with_its_place(text: str | bytes, line: int, column: int, part: str) -> None:
    error = error_of(text)
    assert part in str(error)
    assert (error.source, error.line, error.column) == ("pod.yaml", line, column)


def test_refuses_aliases_that_would_fill_the_memory() -> None:
    """Ten lists of ten lists of … : small in the file, a billion values for whoever walks them."""
    lines = ["- &a0 [x]"] + [f"- &a{n} [{', '.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 10)]
    assert "aliases add more than" in error_of("\n".join(lines)).message


def test_takes_as_many_values_as_are_written(monkeypatch: pytest.MonkeyPatch) -> None:
    """The pods of a large cluster are no attack; only what aliases add is limited."""
    monkeypatch.setattr(document, "LARGEST", 10)
    written = "[" + ", ".join("[a, b]" for _ in range(100)) + "]"
    assert len(str(read_document(f"a: {written}").value)) > 1000
    with pytest.raises(InputError, match="aliases add more than 10 values"):
        read_document("a: &a [1, 2, 3, 4]\nb: [*a, *a, *a]")


def test_does_not_look_for_places_in_very_large_json(monkeypatch: pytest.MonkeyPatch) -> None:
    """They are found by the reader of YAML, which takes minutes over the pods of a cluster; the field is told."""
    monkeypatch.setattr(document, "LARGEST_PLACED", 10)
    error = read_document('{"a": {"b": 1}}', "pods.json").error("wrong", ("a", "b"))
    assert str(error) == "pods.json: a.b: wrong"


def test_wants_exactly_one_document_where_one_is_asked_for() -> None:
    with pytest.raises(InputError, match="no document"):
        read_document("# nothing\n")
    with pytest.raises(InputError, match="f:3:1: one document expected"):
        read_document("a: 1\n---\nb: 1\n", "f")


def test_takes_a_byte_order_mark() -> None:
    assert only(b"\xef\xbb\xbfa: 1") == {"a": 1}


def walked(value: object) -> bool:
    """Whether only JSON's types occur."""
    if isinstance(value, dict):
        return all(isinstance(key, str) and walked(member) for key, member in value.items())
    if isinstance(value, list):
        return all(walked(item) for item in value)
    return value is None or isinstance(value, str | int | float | bool)


@given(st.one_of(st.binary(max_size=60), st.text("ab:-[]{}&*!|>'\"#%?, \n\t019.<~\\", max_size=40)))
def test_makes_a_value_or_an_input_error_of_anything(data: str | bytes) -> None:
    try:
        documents = read_documents(data)
    except InputError:
        documents = []
    assert all(isinstance(document, Document) and walked(document.value) for document in documents)
