"""The texts of errors."""

from numafit.errors import InputError, shortened


def test_a_word_of_thousands_of_characters_is_cut() -> None:
    """It would hide the sentence around it; everything else stays."""
    error = InputError(f'"{"1" * 5000}" is not a quantity', source="pod.yaml", line=8)
    assert str(error) == f'pod.yaml:8: "{"1" * 39}… (5002 characters) is not a quantity'
    longest = "x" * 300
    assert shortened(f"{longest} and {longest}") == f"{longest} and {longest}"
