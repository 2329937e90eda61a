"""Kubelet flags."""

import pytest

from numafit.errors import InputError, StartError
from numafit.quantity import parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.read.arguments import Argument
from numafit.settings.read.flags import Flags, known_flags, parse_flags, with_flags
from numafit.settings.settings import ReservedMemory
from numafit.settings.versions import parse_version
from tests.settings.words import arguments_of_words


def flags(*words: str, release: str = "1.36.4") -> Flags:
    return parse_flags(arguments_of_words(words), parse_version(release))


def refusal(*words: str, release: str = "1.36.4") -> str:
    with pytest.raises(StartError) as refused:
        flags(*words, release=release)
    assert refused.value.stage == "kubelet.flags"
    return refused.value.message.removeprefix("failed to parse kubelet flag: ")


def test_values_follow_an_equals_sign_or_a_blank() -> None:
    """Flags without a value are true, and underscores are dashes."""
    assert flags(
        "--cpu-manager-policy=static",
        "--topology_manager_policy",
        "restricted",
        "--cgroups-per-qos=False",
        "--experimental-allocatable-ignore-eviction",
        "--config",
        "/k.yaml",
        "--config-dir=/k.d",
        "--root-dir=/r",
        "--max-pods=0x10",
        "--pods-per-core=-3",
    ) == Flags(
        fields={
            "cpu_manager_policy": "static",
            "topology_manager_policy": "restricted",
            "cgroups_per_qos": False,
            "ignore_eviction": True,
            "root_dir": "/r",
            "max_pods": 16,
            "pods_per_core": -3,
        },
        config="/k.yaml",
        config_dir="/k.d",
    )


def test_maps_and_lists_grow_with_each_occurrence() -> None:
    """Pairs are trimmed, empty ones skipped."""
    assert flags(
        "--kube-reserved=cpu=1, memory = 1Gi,",
        "--kube-reserved",
        "pid=100",
        "--eviction-hard=memory.available<1Gi",
        "--eviction-soft=memory.available<2Gi",
        "--eviction-soft-grace-period=memory.available=1m",
        "--eviction-minimum-reclaim=imagefs.available=2Gi,pid.available=10%",
        "--cpu-manager-policy-options=full-pcpus-only=true",
        "--cpu-manager-policy-options=a=b,c",
        "--topology-manager-policy-options=a=b,c=d",
        "--enforce-node-allocatable=pods,kube-reserved",
        "--enforce-node-allocatable=system-reserved",
        "--feature-gates=A=true,B=0",
    ) == Flags(
        fields={
            "kube_reserved": {"cpu": "1", "memory": "1Gi", "pid": "100"},
            "eviction_hard": {"memory.available": "1Gi"},
            "eviction_soft": {"memory.available": "2Gi"},
            "eviction_soft_grace_period": {"memory.available": "1m"},
            "eviction_minimum_reclaim": {"imagefs.available": "2Gi", "pid.available": "10%"},
            "cpu_manager_policy_options": {"full-pcpus-only": "true", "a": "b,c"},
            "topology_manager_policy_options": {"a": "b", "c": "d"},
            "enforce_node_allocatable": ("pods", "kube-reserved", "system-reserved"),
        },
        feature_gates={"A": True, "B": False},
    )


def test_an_empty_value_is_an_empty_map_or_list_and_no_default() -> None:
    """As in the field report of 1.20: --eviction-hard="" --enforce-node-allocatable="" --cgroups-per-qos=False."""
    given = flags("--eviction-hard=", "--enforce-node-allocatable=", "--cgroups-per-qos=False", release="1.20.1")
    config = KubeletConfig(eviction_hard={"memory.available": "100Mi"})
    assert with_flags(config, given) == KubeletConfig(enforce_node_allocatable=(), cgroups_per_qos=False)


def test_flags_replace_maps_of_a_file_but_merge_gates() -> None:
    """The command line is parsed a second time onto the loaded configuration."""
    config = KubeletConfig(kube_reserved={"memory": "1Gi"}, feature_gates={"A": True, "B": True})
    merged = with_flags(config, flags("--kube-reserved=cpu=1", "--feature-gates=A=false"))
    assert merged == KubeletConfig(kube_reserved={"cpu": "1"}, feature_gates={"A": False, "B": True})


def test_reserved_memory_has_groups_of_limits() -> None:
    """Separated by `;` since 1.24, or by repeating the flag."""
    one = ReservedMemory(0, {"memory": parse_quantity("1Gi"), "hugepages-2Mi": parse_quantity("4Mi")})
    two = ReservedMemory(1, {"memory": parse_quantity("2Gi")})
    expected = Flags(fields={"reserved_memory": (one, two)})
    assert flags("--reserved-memory=0:memory=1Gi,hugepages-2Mi=4Mi;1:memory=2Gi") == expected
    repeated = ("--reserved-memory=0:memory=1Gi,hugepages-2Mi=4Mi", "--reserved-memory", "1:memory=2Gi")
    assert flags(*repeated, release="1.21.0") == expected


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (
            "memory=1Gi",
            "the reserved memory has incorrect format, expected numaNodeID:type=quantity[,type=quantity...], "
            "got memory=1Gi",
        ),
        ("x:memory=1Gi", "failed to convert the NUMA node ID, expected integer, got x"),
        ("0:memory", "the reserved limit has incorrect value, expected type=quantity, got memory"),
        ("0:cpu=1", 'memory type conversion error, unknown type: "cpu"'),
        ("0:memory=1Gx", "failed to parse the quantity: 1Gx"),
    ],
)
def test_bad_reserved_memory_is_refused(value: str, message: str) -> None:
    """The texts of 1.35 and later."""
    assert refusal(f"--reserved-memory={value}") == (
        f'invalid argument "{value}" for "--reserved-memory" flag: {message}'
    )


def test_the_texts_for_reserved_memory_were_misspelt_up_to_1_34() -> None:
    """`exptected` and `quantatity`."""
    assert refusal("--reserved-memory=x:memory=1Gi", release="1.34.0").endswith("ID, exptected integer, got x")
    assert refusal("--reserved-memory=0:memory=?", release="1.34.0").endswith(
        "failed to parse the quantatity, expected quantatity, got ?"
    )


@pytest.mark.parametrize(
    ("word", "message"),
    [
        (
            "--kube-reserved=cpu",
            'invalid argument "cpu" for "--kube-reserved" flag: malformed pair, expect string=string',
        ),
        (
            "--eviction-hard=a=b",
            'invalid argument "a=b" for "--eviction-hard" flag: malformed pair, expect string<string',
        ),
        (
            "--feature-gates=A=yes",
            'invalid argument "A=yes" for "--feature-gates" flag: invalid value of A: yes, err: '
            'strconv.ParseBool: parsing "yes": invalid syntax',
        ),
        (
            "--max-pods=many",
            'invalid argument "many" for "--max-pods" flag: strconv.ParseInt: parsing "many": invalid syntax',
        ),
        (
            "--max-pods=3000000000",
            'invalid argument "3000000000" for "--max-pods" flag: '
            'strconv.ParseInt: parsing "3000000000": value out of range',
        ),
        ("--max-pods", "flag needs an argument: --max-pods"),
    ],
)
def test_a_bad_value_is_refused_in_the_words_of_the_kubelet(word: str, message: str) -> None:
    """pflag's wording."""
    assert refusal(word) == message


def test_topology_options_are_one_pair_per_flag_up_to_1_30() -> None:
    """The comma belongs to the value there."""
    given = flags("--topology-manager-policy-options=a=b,c=d", release="1.30.0")
    assert given.fields == {"topology_manager_policy_options": {"a": "b,c=d"}}


def test_flags_that_do_not_concern_us_are_skipped() -> None:
    """With or without a value, and -v in all its forms."""
    assert (
        flags("--v=2", "-v2", "-v", "4", "--register-node", "--node-ip", "1.2.3.4", "--fail-swap-on=false") == Flags()
    )


@pytest.mark.parametrize(
    ("release", "word"),
    [
        ("1.36.4", "--no-such-flag=1"),
        ("1.27.0", "--container-runtime=remote"),
        ("1.21.0", "--cpu-manager-policy-options=a=b"),
    ],
)
def test_a_flag_that_the_release_does_not_know_is_refused_with_its_place(release: str, word: str) -> None:
    """--container-runtime is gone since 1.27."""
    with pytest.raises(InputError) as refused:
        parse_flags([Argument(word, 7)], parse_version(release), source="kubelet.env")
    name = word.split("=")[0]
    assert str(refused.value).startswith(
        f"kubelet.env:7: the kubelet of {release.rpartition('.')[0]} has no flag {name} ("
    )


def test_a_flag_of_other_releases_names_the_option_that_chooses_one() -> None:
    """--container-runtime is gone since 1.27."""
    with pytest.raises(InputError, match=r"\(other releases have it: remove it, or check --kube-version\)"):
        parse_flags([Argument("--container-runtime=remote")], parse_version("1.27.0"))


def test_a_word_that_is_no_flag_is_refused() -> None:
    """The kubelet takes no arguments."""
    with pytest.raises(InputError, match='"run" is no flag'):
        flags("run")


def test_every_flag_that_sets_a_field_is_known_to_the_newest_release() -> None:
    """The table of facts and the flags that concern us agree."""
    switches, values = known_flags(parse_version("1.36.4"))
    assert {"cgroups-per-qos", "experimental-allocatable-ignore-eviction"} <= switches
    assert {"reserved-memory", "kube-reserved", "eviction-hard", "feature-gates", "reserved-cpus", "config"} <= values
    assert not switches & values
