"""The texts of errors."""

from numafit.errors import InputError, KubeletError, StartError, StartRefusedError, shortened, some_of


def test_a_word_of_thousands_of_characters_is_cut() -> None:
    """It would hide the sentence around it; everything else stays."""
    error = InputError(f'"{"1" * 5000}" is not a quantity', source="pod.yaml", line=8)
    assert str(error) == f'pod.yaml:8: "{"1" * 39}… (5002 characters) is not a quantity'
    longest = "x" * 300
    assert shortened(f"{longest} and {longest}") == f"{longest} and {longest}"


def test_a_longer_text_keeps_what_the_shorter_one_knew() -> None:
    """The kubelet wraps errors; what is told anew wins, the rest stays."""
    inner = KubeletError("no number", code="amount", facts={"text": "x"})
    outer = KubeletError(
        f"--kube-reserved: {inner}", field=("kubeReserved", "cpu"), facts={"owner": "kube"}, cause=inner
    )
    start = StartError("kubelet.run", str(outer), cause=outer)
    assert (str(start), start.stage) == ("--kube-reserved: no number", "kubelet.run")
    assert (start.code, start.field) == ("amount", ("kubeReserved", "cpu"))
    assert start.facts == {"text": "x", "owner": "kube"}
    assert start.problems == (start,)


def test_an_error_that_lists_others_is_about_the_first_and_names_all() -> None:
    """Also when it is wrapped once more."""
    problems = (KubeletError("a", code="first", field=("a",)), KubeletError("b", code="second", field=("b",)))
    joined = KubeletError("[a, b]", joins=problems)
    start = StartError("stage", "refused: [a, b]", cause=joined)
    assert (start.code, start.field, start.problems) == ("first", ("a",), problems)


def test_a_kubelet_that_would_not_start_is_bad_input() -> None:
    """With its own error beside it, for those who ask which one."""
    refusal = StartError("stage", "no such policy", code="policy")
    error = StartRefusedError(refusal, source="kubelet.yaml", line=3)
    assert str(error) == "kubelet.yaml:3: the kubelet would not start: no such policy"
    assert error.refusal is refusal


def test_a_list_that_is_cut_says_how_many_more_there_are() -> None:
    assert [some_of(["a", "b", "c"], most) for most in (1, 2, 3, 4)] == [
        "a and 2 more",
        "a, b and 1 more",
        *["a, b, c"] * 2,
    ]
    assert some_of([], 3) == ""


def test_a_file_that_a_sentence_repeats_whole_is_cut() -> None:
    text = shortened("Object 'Kind' is missing in '" + "a: b " * 1000 + "'")
    assert text.startswith("Object 'Kind' is missing in 'a: b a: b")
    assert text.endswith("… (5030 characters)")
    assert len(text) < 1100
