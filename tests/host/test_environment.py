"""The variables that a command finds, and what stands against the user's own."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.host.environment import by_core, devices_text, inherited, merged, openmp, parse_devices, variables

GPUS = ("GPU-aaaa", "GPU-bbbb")
CORES = [0b1_0001, 0b10_0010, 0b100_0100, 0b1000_1000]
"""Four cores of two threads: 0 and 4, 1 and 5, …"""


def ours(**changed: object) -> dict[str, str]:
    facts: dict[str, object] = {
        "lease": "a1",
        "cpus": 0b11_0011,
        "mems": 0b1,
        "nodes": 0b1,
        "devices": {"nvidia.com/gpu": GPUS},
        "cores": CORES,
        "omp": True,
    }
    return variables(**(facts | changed))  # type: ignore[arg-type]


def test_a_command_is_told_what_its_lease_has() -> None:
    assert ours() == {
        "NUMAFIT_LEASE": "a1",
        "NUMAFIT_CPUS": "0-1,4-5",
        "NUMAFIT_MEMS": "0",
        "NUMAFIT_NODES": "0",
        "NUMAFIT_DEVICES": "nvidia.com/gpu=GPU-aaaa,GPU-bbbb",
        "CUDA_VISIBLE_DEVICES": "GPU-aaaa,GPU-bbbb",
        "NVIDIA_VISIBLE_DEVICES": "GPU-aaaa,GPU-bbbb",
        "OMP_NUM_THREADS": "4",
        "OMP_PLACES": "{0},{4},{1},{5}",
        "GOMP_CPU_AFFINITY": "0,4,1,5",
    }


def test_threads_are_counted_and_not_pinned_unless_that_is_asked_for() -> None:
    """libgomp pins the main thread of whatever loads it, and its children inherit that one CPU."""
    assert {name for name in ours(omp=False) if not name.startswith("NUMAFIT_")} == {
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
    }


def test_shared_cpus_are_no_number_to_count_on() -> None:
    """They come and go while the command runs."""
    assert not {"OMP_NUM_THREADS", "OMP_PLACES", "GOMP_CPU_AFFINITY"} & ours(exclusive=False).keys()


@pytest.mark.parametrize(
    ("devices", "visible"),
    [
        ({}, None),
        ({"amd.com/gpu": ["GPU-x"]}, None),
        ({"nvidia.com/gpu": ["0000:3b:00.0"]}, None),
        ({"nvidia.com/mig-1g.10gb": ["MIG-x"]}, "MIG-x"),
        ({"nvidia.com/gpu.shared": ["GPU-x::0", "GPU-x::3", "GPU-y::1"]}, "GPU-x,GPU-y"),
    ],
)
def test_gpus_are_named_by_uuid_or_not_at_all(devices: dict[str, list[str]], visible: str | None) -> None:
    """A PCI address means nothing to CUDA, and other makers have other variables."""
    assert ours(devices=devices).get("CUDA_VISIBLE_DEVICES") == visible


def test_threads_of_a_core_stand_side_by_side() -> None:
    """CPUs of no known core count as a core each."""
    assert by_core(0b1_0001_0011, [0b1_0001, 0b10_0010]) == [0, 4, 1, 8]


TEXT = st.text(min_size=1, max_size=6)


@given(st.dictionaries(TEXT, st.lists(TEXT, min_size=1, max_size=3).map(tuple), max_size=3))
def test_devices_come_back_from_their_text(devices: dict[str, tuple[str, ...]]) -> None:
    """Whatever is in their names."""
    assert parse_devices(devices_text(devices)) == devices


@pytest.mark.parametrize("text", ["x", "=a", "x=", "a=b;;c=d"])
def test_a_text_that_names_no_devices_is_refused(text: str) -> None:
    with pytest.raises(ValueError, match="is not RESOURCE=ID"):
        parse_devices(text)


def test_what_the_user_set_is_kept() -> None:
    environment, notes = merged({"OMP_NUM_THREADS": "4", "HOME": "/x", "OMP_PLACES": "cores"}, ours())
    assert notes == []
    assert (environment["OMP_PLACES"], environment["HOME"]) == ("cores", "/x")
    assert environment["GOMP_CPU_AFFINITY"] == "0,4,1,5"


@pytest.mark.parametrize(
    ("name", "value", "against"),
    [
        ("OMP_NUM_THREADS", "8", "there are 4 CPUs for it"),
        ("GOMP_CPU_AFFINITY", "0-3", "the CPUs 2-3 are not among its own, 0-1,4-5"),
        ("GOMP_CPU_AFFINITY", "0 4-8:2", "the CPUs 6,8 are not among its own, 0-1,4-5"),
        ("OMP_PLACES", "{0:4}", "the CPUs 2-3 are not among its own, 0-1,4-5"),
        ("OMP_PLACES", "{0},{4}:2:2", "the CPUs 6 are not among its own, 0-1,4-5"),
        ("CUDA_VISIBLE_DEVICES", "GPU-cccc", "the lease has the GPUs GPU-aaaa, GPU-bbbb"),
        ("CUDA_VISIBLE_DEVICES", "GPU-aaaa,GPU-cccc", "the lease has the GPUs GPU-aaaa, GPU-bbbb"),
        ("CUDA_VISIBLE_DEVICES", "", "the lease has the GPUs GPU-aaaa, GPU-bbbb"),
        ("CUDA_VISIBLE_DEVICES", "0,1", "it counts GPUs by number, and the lease names them by UUID"),
        ("NVIDIA_VISIBLE_DEVICES", "all", "the lease has the GPUs GPU-aaaa, GPU-bbbb"),
    ],
)
def test_a_contradiction_is_one_sentence(name: str, value: str, against: str) -> None:
    """The user's value stays."""
    environment, notes = merged({name: value}, ours())
    assert (environment[name], notes) == (value, [f"{name}={value} of your environment is kept, but {against}"])


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("CUDA_VISIBLE_DEVICES", "GPU-bbbb"),
        ("CUDA_VISIBLE_DEVICES", "GPU-bb,GPU-aa"),
        ("GOMP_CPU_AFFINITY", "0 1"),
        ("GOMP_CPU_AFFINITY", "nonsense"),
        ("OMP_PLACES", "threads"),
        ("OMP_PLACES", "{0,4},{1,5}"),
        ("OMP_PLACES", "{0:2:4}"),
        ("OMP_PLACES", "{0:999999}:999999"),
    ],
)
def test_less_than_the_lease_has_is_no_contradiction(name: str, value: str) -> None:
    """CUDA takes the beginning of a UUID for the whole."""
    assert merged({name: value}, ours()) == ({**ours(), name: value}, [])


def test_variables_of_an_outer_lease_are_not_the_users() -> None:
    """A job inside a job gets its own."""
    outer = ours()
    inner = ours(lease="b2", cpus=0b1, devices={})
    environment, notes = merged(outer, inner)
    assert inherited(outer) == {
        "CUDA_VISIBLE_DEVICES",
        "NVIDIA_VISIBLE_DEVICES",
        "OMP_NUM_THREADS",
        "OMP_PLACES",
        "GOMP_CPU_AFFINITY",
    }
    assert notes == []
    assert {name: environment[name] for name in inner} == inner


def test_facts_of_an_outer_lease_go_and_settings_stay() -> None:
    """`NUMAFIT_STATE` says where the ledger is, for jobs inside the job as well."""
    user = {"NUMAFIT_STATE": "/x", "NUMAFIT_DEBUG": "1", "NUMAFIT_MEMORY": "1@0", "NUMAFIT_RANK_CPUS": "0"}
    environment, notes = merged(user, ours())
    assert (environment, notes) == (ours() | {"NUMAFIT_STATE": "/x", "NUMAFIT_DEBUG": "1"}, [])


def test_the_gpus_of_an_outer_lease_stay_the_visible_ones() -> None:
    """To name none would show all GPUs of the machine."""
    environment, _ = merged(ours(), ours(devices={}))
    assert environment["CUDA_VISIBLE_DEVICES"] == "GPU-aaaa,GPU-bbbb"


def test_the_share_of_a_process_is_known_again() -> None:
    """`numafit run` in a process that `numafit rank` started."""
    outer = ours() | openmp(0b1, CORES, pinned=True) | {"NUMAFIT_RANK_CPUS": "0"}
    assert merged(outer, ours(cpus=0b10))[1] == []


def test_advice_about_the_cpus_of_an_outer_lease_goes() -> None:
    """Shared work runs elsewhere, and gets none of its own."""
    environment, _ = merged(ours(), ours(exclusive=False))
    assert "OMP_PLACES" not in environment


def test_what_was_changed_inside_an_outer_lease_is_the_users() -> None:
    changed = ours() | {"OMP_NUM_THREADS": "2"}
    environment, notes = merged(changed, ours(lease="b2"))
    assert (environment["OMP_NUM_THREADS"], len(notes)) == ("2", 1)


@given(st.text(max_size=20))
def test_no_value_of_a_user_breaks_the_comparison(value: str) -> None:
    names = ("OMP_PLACES", "GOMP_CPU_AFFINITY", "OMP_NUM_THREADS", "CUDA_VISIBLE_DEVICES")
    environment, _ = merged(dict.fromkeys(names, value), ours())
    assert [environment[name] for name in names] == [value] * 4
