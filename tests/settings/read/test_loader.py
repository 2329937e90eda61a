"""File, drop-in files and flags together."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from numafit.decision.start import Start, start
from numafit.errors import InputError, StartError
from numafit.settings.config import KubeletConfig, default_eviction_hard
from numafit.settings.read.loader import (
    ConfigFile,
    ConfigSources,
    LoadedConfig,
    UnknownField,
    merge_patch,
    refuse_unknown,
)
from numafit.settings.versions import parse_version
from tests.settings.words import arguments_of_words

NEWEST = parse_version("1.36.4")
HEAD = "apiVersion: kubelet.config.k8s.io/v1beta1\nkind: KubeletConfiguration\n"
DEFAULTS = default_eviction_hard(NEWEST)


def loaded(sources: ConfigSources, release: str = "1.36.4") -> Start:
    return start(Start(version=parse_version(release), sources=sources), "valid")


def load(text: str, *words: str, release: str = "1.36.4", drop_ins: dict[str, str] | None = None) -> Start:
    file = ConfigFile("kubelet.yaml", HEAD + text)
    patches = tuple(ConfigFile(name, HEAD + patch) for name, patch in (drop_ins or {}).items())
    return loaded(ConfigSources(file, patches, tuple(arguments_of_words(words))), release)


def refusal(text: str, *words: str, release: str = "1.36.4") -> tuple[str, str]:
    with pytest.raises(StartError) as refused:
        load(text, *words, release=release)
    return refused.value.stage, refused.value.message


def test_a_file_is_read_with_its_defaults() -> None:
    """The file of the second field report's kind."""
    text = 'cpuManagerPolicy: static\ntopologyManagerPolicy: single-numa-node\nreservedSystemCPUs: "0,64"\n'
    assert load(text).config == KubeletConfig(
        cpu_manager_policy="static",
        topology_manager_policy="single-numa-node",
        reserved_system_cpus="0,64",
        eviction_hard=DEFAULTS,
    )


def test_without_a_file_flags_stand_on_the_defaults() -> None:
    """The field report of 1.20: no file at all."""
    arguments = arguments_of_words(["--cpu-manager-policy=static", "--kube-reserved=cpu=100m", "--eviction-hard="])
    assert loaded(ConfigSources(arguments=tuple(arguments)), "1.20.1").config == KubeletConfig(
        cpu_manager_policy="static", kube_reserved={"cpu": "100m"}
    )


def test_flags_win_over_the_file() -> None:
    """A bad value in the file does not matter then."""
    known = load("topologyManagerPolicy: foo\n", "--topology-manager-policy=restricted")
    assert known.config.topology_manager_policy == "restricted"


def test_unknown_fields_come_with_their_lines() -> None:
    """Also those that the release does not know yet."""
    known = load("cpuManagerPolcy: static\nreservedMemory: []\n", release="1.20.1")
    assert known.merged.unknown == (
        UnknownField("kubelet.yaml", "cpuManagerPolcy", 3),
        UnknownField("kubelet.yaml", "reservedMemory", 4, later=True),
    )


def test_a_file_of_json_is_read_too() -> None:
    """In the order of its keys."""
    text = '{"kind": "KubeletConfiguration", "apiVersion": "kubelet.config.k8s.io/v1beta1", "maxPods": 7}'
    assert loaded(ConfigSources(ConfigFile("k.json", text))).config.max_pods == 7


@pytest.mark.parametrize(
    ("text", "stage", "message"),
    [
        (
            "cpuManagerPolicy: 3\n",
            "configfiles.Load",
            "failed to decode: json: cannot unmarshal number into Go struct field "
            "KubeletConfiguration.cpuManagerPolicy of type string",
        ),
        (
            "topologyManagerScope: node\n",
            "validation.ValidateKubeletConfiguration",
            "failed to validate kubelet configuration, error: invalid configuration: topologyManagerScope "
            '(--topology-manager-scope) "node" must be one of: "container", or "pod"',
        ),
        (
            "featureGates: {MemoryManager: true}\n",
            "featuregate.SetFromMap",
            "failed to merge global and in-flight KubeletConfiguration while setting defaults, error: "
            "unrecognized feature gate: MemoryManager",
        ),
    ],
)
def test_a_kubelet_that_does_not_start_says_why(text: str, stage: str, message: str) -> None:
    """1.36."""
    assert refusal(text) == (stage, message)


def test_an_unknown_gate_on_the_command_line_is_refused_before_the_file() -> None:
    """And one in a file without a crash before 1.32."""
    prefix = "failed to set feature gates from initial flags-based config: "
    assert refusal("maxPods: x\n", "--feature-gates=Foo=true") == (
        "featuregate.SetFromMap",
        f"{prefix}unrecognized feature gate: Foo",
    )
    text = "featureGates: {Foo: true}\n"
    assert refusal(text, release="1.31.0") == ("featuregate.SetFromMap", f"{prefix}unrecognized feature gate: Foo")


def test_an_empty_file_is_refused() -> None:
    """The kubelet wants at least a kind."""
    with pytest.raises(StartError, match=r'kubelet config file "k\.yaml" was empty'):
        loaded(ConfigSources(ConfigFile("k.yaml", "")))


def test_drop_in_files_patch_the_configuration_in_the_order_of_their_names() -> None:
    """Maps merge with the filled defaults, lists are replaced, null takes a key away, other files are skipped."""
    text = "reservedMemory: [{numaNode: 0, limits: {memory: 1Gi}}]\nmaxPods: 5\nkubeReserved: {cpu: '1'}\n"
    drop_ins = {
        "20.conf": "maxPods: 20\nevictionHard: {memory.available: 1Gi, nodefs.available: null}\n",
        "10.conf": "maxPods: 10\nreservedMemory: []\nkubeReserved: {memory: 1Gi}\nnoSuchField: 1\n",
        "30.yaml": "maxPods: 30\n",
    }
    known = load(text, drop_ins=drop_ins)
    eviction = {name: value for name, value in DEFAULTS.items() if name != "nodefs.available"}
    assert known.merged == LoadedConfig(
        KubeletConfig(
            max_pods=20,
            kube_reserved={"cpu": "1", "memory": "1Gi"},
            eviction_hard=eviction | {"memory.available": "1Gi"},
        ),
        (UnknownField("10.conf", "noSuchField", 6),),
    )


def test_a_folder_of_drop_in_files_comes_before_a_file_that_is_named_like_it() -> None:
    """Go walks through each folder by itself, by name: `a` is before `a.conf`, so `a/z.conf` is read first."""
    drop_ins = {"d/a.conf": "maxPods: 2\n", "d/a/z.conf": "maxPods: 1\n"}
    assert load("", drop_ins=drop_ins).config.max_pods == 2


def test_a_field_of_later_releases_is_no_misspelling() -> None:
    """A kubelet ignores what it does not know; `containerRuntimeEndpoint` came with 1.27."""
    old = parse_version("1.24.0")
    known = load("containerRuntimeEndpoint: unix:///run/cri.sock\n", release="1.24.0")
    assert known.merged.unknown == (UnknownField("kubelet.yaml", "containerRuntimeEndpoint", 3, later=True),)
    refuse_unknown(known.merged, old)
    with pytest.raises(InputError, match=r"kubelet\.yaml:3: noSuchField: the kubelet v1\.24\.0 does not know"):
        refuse_unknown(load("noSuchField: 1\n", release="1.24.0").merged, old)


def test_files_that_the_flags_name_and_nobody_gives_are_told() -> None:
    """The kubelet would read them, so its decisions may be others."""
    words = arguments_of_words(["--config=/etc/kubelet.yaml", "--config-dir=/etc/kubelet.d", "--max-pods=5"])
    sources = ConfigSources(arguments=tuple(words))
    flags = loaded(sources).flags
    assert sources.missing(flags) == {"--config": "/etc/kubelet.yaml", "--config-dir": "/etc/kubelet.d"}
    assert ConfigSources(ConfigFile("k.yaml", HEAD), (), tuple(words)).missing(flags) == {}


def test_a_drop_in_file_brings_the_default_back_for_an_empty_list() -> None:
    """The kubelet writes its configuration without empty values before it patches it."""
    text = "enforceNodeAllocatable: []\n"
    assert load(text).config.enforce_node_allocatable == ()
    assert load(text, drop_ins={"a.conf": "maxPods: 5\n"}).config.enforce_node_allocatable == ("pods",)


@pytest.mark.parametrize(
    ("patch", "message"),
    [
        (
            "maxPods: 3\n",
            "failed to load kubelet dropin file, path: a.conf, error: Object 'Kind' is missing in 'maxPods: 3\n'",
        ),
        (
            "apiVersion: kubelet.config.k8s.io/v1\nkind: KubeletConfiguration\n",
            "failed to load kubelet dropin file, path: a.conf, unknown apiVersion/kind: "
            "kubelet.config.k8s.io/v1, Kind=KubeletConfiguration",
        ),
        (
            HEAD + "maxPods: x\n",
            "failed to unmarshal merged JSON into kubelet configuration: json: cannot unmarshal string into "
            "Go struct field KubeletConfiguration.maxPods of type int32",
        ),
    ],
)
def test_a_bad_drop_in_file_is_refused(patch: str, message: str) -> None:
    """1.32 and later."""
    with pytest.raises(StartError) as refused:
        loaded(ConfigSources(drop_ins=(ConfigFile("a.conf", patch),)))
    assert refused.value.message == message


def test_a_kubelet_that_knows_no_drop_in_files_is_not_given_any() -> None:
    """They came with 1.28."""
    with pytest.raises(InputError, match=r"a\.conf: a kubelet 1\.27 has no --config-dir and reads no drop-in files"):
        load("", release="1.27.3", drop_ins={"a.conf": "maxPods: 3\n"})


JSON = st.recursive(
    st.none() | st.integers() | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.text("ab", max_size=1), inner, max_size=3),
    max_leaves=6,
)


@given(JSON, JSON)
def test_a_merge_patch_is_done_after_once(target: object, patch: object) -> None:
    """Patching again changes nothing, and no null of the patch survives in an object."""
    once = merge_patch(target, patch)
    assert merge_patch(once, patch) == once


@given(st.text(max_size=60))
def test_any_file_gives_a_configuration_or_a_clear_error(text: str) -> None:
    """Never a traceback."""
    try:
        outcome = repr(load(text).merged)
    except (InputError, StartError) as error:
        outcome = str(error)
    assert outcome
