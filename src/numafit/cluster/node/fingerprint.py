"""The fingerprint of the pods of a node, as schedulers compare it with their own (k8stopologyawareschedwg/
podfingerprint, v001): XXH64 over the sorted hashes of namespaces and names."""

from collections.abc import Iterable
from struct import unpack_from

GROUP = "topology.node.k8s.io"
ANNOTATION = f"{GROUP}/fingerprint"
ATTRIBUTE = "nodeTopologyPodsFingerprint"
METHOD = "nodeTopologyPodsFingerprintMethod"
ALL = "all"
"""Every pod of the node counts."""

_PREFIX = "pfp0v001"
_MASK = (1 << 64) - 1
_PRIMES = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


def fingerprint(pods: Iterable[tuple[str, str]]) -> str:
    """Of (namespace, name) pairs, in whatever order."""
    hashes = sorted(xxh64(name.encode(), xxh64(namespace.encode())) for namespace, name in pods)
    return f"{_PREFIX}{xxh64(b''.join(each.to_bytes(8, 'little') for each in hashes)):016x}"


def xxh64(data: bytes, seed: int = 0) -> int:
    """XXH64 of the xxHash specification, 0.1.1."""
    first, second, third, fourth, fifth = _PRIMES
    size, place = len(data), 0
    if size >= 32:
        lanes = [seed + first + second, seed + second, seed, seed - first]
        while place + 32 <= size:
            lanes = [_round(lane, word) for lane, word in zip(lanes, unpack_from("<4Q", data, place), strict=True)]
            place += 32
        total = sum(_rotated(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * first + fourth) & _MASK
    else:
        total = seed + fifth
    total = (total + size) & _MASK
    while place + 8 <= size:
        (word,) = unpack_from("<Q", data, place)
        total = (_rotated(total ^ _round(0, word), 27) * first + fourth) & _MASK
        place += 8
    if place + 4 <= size:
        (half,) = unpack_from("<I", data, place)
        total = (_rotated(total ^ (half * first & _MASK), 23) * second + third) & _MASK
        place += 4
    for byte in data[place:]:
        total = _rotated(total ^ (byte * fifth & _MASK), 11) * first & _MASK
    total = (total ^ total >> 33) * second & _MASK
    total = (total ^ total >> 29) * third & _MASK
    return total ^ total >> 32


def _round(lane: int, word: int) -> int:
    return _rotated(lane + word * _PRIMES[1], 31) * _PRIMES[0] & _MASK


def _rotated(value: int, by: int) -> int:
    value &= _MASK
    return (value << by | value >> (64 - by)) & _MASK
