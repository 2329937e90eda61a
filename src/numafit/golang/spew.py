"""The text that the kubelet hashes: go-spew's `%#v` on one line, and the FNV-1a hash over it.

Every value prints its type in parentheses first, except elements of lists and maps and what a pointer points to.
"""

_OFFSET = 2166136261
_PRIME = 16777619


def fnv1a32(data: bytes) -> int:
    value = _OFFSET
    prime = _PRIME
    # the low 32 bits never depend on the higher ones: cutting off once per four bytes is enough, and a quarter faster
    stream = iter(data)
    for a, b, c, d in zip(stream, stream, stream, stream, strict=False):
        value = ((((value ^ a) * prime ^ b) * prime ^ c) * prime ^ d) * prime & 0xFFFFFFFF
    for byte in data[len(data) - len(data) % 4 :]:
        value = (value ^ byte) * prime & 0xFFFFFFFF
    return value


def checksum(dump: str) -> int:
    return fnv1a32(dump.encode())


class Spew:
    """A dump in the making. `bare` says that the next value prints without its type."""

    def __init__(self) -> None:
        self.parts: list[str] = []
        self.bare = False

    def type(self, name: str) -> None:
        if not self.bare:
            self.parts.append(f"({name})")
        self.bare = False

    def write(self, text: str) -> None:
        self.parts.append(text)

    def pointer(self, name: str) -> None:
        self.parts.append("<*>" if self.bare else f"(*{name})")
        self.bare = True

    def nil_pointer(self) -> None:
        """Leaves `bare` set, so that the next struct field prints without its type (an accident of go-spew 1.1.1)."""
        self.parts.append("<nil>")

    @property
    def text(self) -> str:
        return "".join(self.parts)
