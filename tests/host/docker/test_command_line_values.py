"""The values of Docker's options as numbers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.errors import InputError
from numafit.host.docker.command_line import (
    WantedGpus,
    cpu_limit,
    docker_size,
    gpus_of,
    numbers_of,
    parse_docker_run,
    size_of,
)


@pytest.mark.parametrize(
    ("text", "size"),
    [("512", 512), ("1b", 1), ("4k", 4096), ("4K", 4096), ("1.5g", 3 << 29), ("2GiB", 2 << 30), ("2gb", 2 << 30)],
)
def test_sizes_are_powers_of_1024(text: str, size: int) -> None:
    """Docker's `g` is a GiB, however it is written."""
    assert size_of(text, "memory") == size


@pytest.mark.parametrize("text", ["", "g", "-1", "4x", "4 g b", "1e9", "٣"])
def test_what_is_no_size_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a size"):
        size_of(text, "memory")


@given(st.integers(1, 1 << 50))
def test_a_size_reads_as_it_was_written(size: int) -> None:
    assert size_of(docker_size(size), "memory") == size


def test_lists_are_masks() -> None:
    assert numbers_of("0-2,8", "cpuset-cpus") == 0b1_0000_0111
    for text in ("", "3-1", "0-9999", "a", "1,,2"):
        with pytest.raises(InputError):
            numbers_of(text, "cpuset-cpus")


@pytest.mark.parametrize(
    ("text", "gpus"),
    [
        ("all", WantedGpus(-1)),
        ("2", WantedGpus(2)),
        ("count=2,capabilities=utility", WantedGpus(2)),
        ('"device=0,1"', WantedGpus(devices=("0", "1"))),
        ("device=GPU-1", WantedGpus(devices=("GPU-1",))),
        ('"device=0,2",capabilities=utility', WantedGpus(devices=("0", "2"))),
        ("capabilities=utility", WantedGpus(1)),
    ],
)
def test_gpus_are_a_line_of_values(text: str, gpus: WantedGpus) -> None:
    """A list needs quotes inside the value: without them it is cut at its comma, as Docker cuts it."""
    assert gpus_of(text) == gpus


@pytest.mark.parametrize("text", ["", "device=0,one", "some", "frobnicate=1"])
def test_gpus_that_docker_would_refuse_are_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not understood"):
        gpus_of(text)


@pytest.mark.parametrize(
    ("words", "limit"),
    [
        ("", None),
        ("--cpus 1.5", 1.5),
        ("--cpus 0", None),
        ("--cpu-quota 50000", 0.5),
        ("--cpu-quota 50000 --cpu-period 10000", 5.0),
        ("--cpu-quota -1", None),
    ],
)
def test_the_share_of_cpu_time(words: str, limit: float | None) -> None:
    """A quota counts per period, which is 100 ms unless it is said."""
    assert cpu_limit(parse_docker_run([*words.split(), "image"])) == limit
