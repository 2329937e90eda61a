import pytest

from numafit.cluster.node.fingerprint import fingerprint, xxh64


@pytest.mark.parametrize(
    ("data", "seed", "expected"),
    [
        (b"", 0, 0xEF46DB3751D8E999),
        (b"xxhash", 0, 0x32DD38952C4BC720),
        (b"xxhash", 20141025, 0xB559B98D844E0635),
        (b"a", 0, 0xD24EC4F1A98C6E5B),
        (b"Nobody inspects the spammish repetition", 0, 0xFBCEA83C8A378BF1),
    ],
)
def test_hashes_are_those_of_xxhash(data: bytes, seed: int, expected: int) -> None:
    """Short ones, one of more than 32 bytes, and one with a seed."""
    assert xxh64(data, seed) == expected


def test_the_order_of_pods_is_no_matter() -> None:
    """Compared by hand with the example of podfingerprint's own tests, 259 pods: the same."""
    assert fingerprint([]) == "pfp0v001ef46db3751d8e999"
    assert fingerprint([("a", "b"), ("c", "d")]) == fingerprint([("c", "d"), ("a", "b")])
    assert fingerprint([("a", "b")]) != fingerprint([("ab", "")])
