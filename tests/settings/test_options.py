"""Policy options of the CPU manager and the topology manager."""

from collections.abc import Callable

import pytest

from numafit.errors import KubeletError
from numafit.settings.gates import default_gates
from numafit.settings.options import CpuOptions, TopologyOptions, cpu_options, topology_options
from numafit.settings.settings import Settings
from numafit.settings.versions import parse_version


def settings(
    release: str,
    cpu: dict[str, str] | None = None,
    topology: dict[str, str] | None = None,
    *,
    gates: dict[str, bool] | None = None,
    policy: str = "restricted",
) -> Settings:
    version = parse_version(release)
    return Settings(
        version=version,
        cpu_policy="static",
        cpu_options=cpu or {},
        topology_policy=policy,
        topology_options=topology or {},
        gates=default_gates(version) | (gates or {}),
    )


def refusal(read: Callable[[Settings], object], given: Settings) -> str:
    with pytest.raises(KubeletError) as refused:
        read(given)
    return str(refused.value)


def test_options_are_read_as_booleans() -> None:
    """1.36: three stable options and one beta; every spelling of Go counts."""
    given = {"full-pcpus-only": "1", "strict-cpu-reservation": "T", "distribute-cpus-across-numa": "False"}
    assert cpu_options(settings("1.36.4", given)) == CpuOptions(full_pcpus_only=True, strict_cpu_reservation=True)


def test_releases_without_options_ignore_them() -> None:
    """1.20 and 1.21 have no CPU manager options, releases before 1.26 none of the topology manager."""
    assert cpu_options(settings("1.21.14", {"anything": "at all"})) == CpuOptions()
    assert topology_options(settings("1.25.0", topology={"anything": "at all"})) == TopologyOptions()


@pytest.mark.parametrize(
    ("release", "option", "level"),
    [
        ("1.32.0", "distribute-cpus-across-numa", "Alpha"),
        ("1.36.4", "align-by-socket", "Alpha"),
        ("1.33.0", "prefer-align-cpus-by-uncorecache", "Alpha"),
        ("1.32.0", "full-pcpus-only", "Beta"),
        ("1.34.0", "strict-cpu-reservation", "Beta"),
    ],
)
def test_an_option_below_stable_needs_the_gate_of_its_stage(release: str, option: str, level: str) -> None:
    """Even the value false needs it."""
    text = refusal(cpu_options, settings(release, {option: "false"}, gates={"CPUManagerPolicyBetaOptions": False}))
    assert text == f'CPU Manager Policy {level}-level Options not enabled, but option "{option}" provided'


@pytest.mark.parametrize(("release", "option"), [("1.24.0", "align-by-socket"), ("1.31.0", "strict-cpu-reservation")])
def test_an_option_of_a_later_release_is_unknown(release: str, option: str) -> None:
    """align-by-socket came with 1.25, strict-cpu-reservation with 1.32."""
    assert refusal(cpu_options, settings(release, {option: "true"})) == f'unknown CPU Manager Policy option: "{option}"'


def test_1_22_has_one_option_and_its_own_words() -> None:
    """1.22 has no stages: an unknown name is refused with its value."""
    assert cpu_options(settings("1.22.17", {"full-pcpus-only": "true"})) == CpuOptions(full_pcpus_only=True)
    assert refusal(cpu_options, settings("1.22.17", {"foo": "bar"})) == 'unsupported cpumanager option: "foo" (bar)'


def test_a_bad_value_is_named_with_its_option() -> None:
    """The first bad option in byte order is reported, where the kubelet picks any."""
    text = refusal(cpu_options, settings("1.36.4", {"strict-cpu-reservation": "maybe", "full-pcpus-only": "yes"}))
    assert text == 'bad value for option "full-pcpus-only": strconv.ParseBool: parsing "yes": invalid syntax'


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ("full-pcpus-only", "distribute-cpus-across-cores"),
        ("distribute-cpus-across-numa", "distribute-cpus-across-cores"),
        ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-cores"),
        ("prefer-align-cpus-by-uncorecache", "distribute-cpus-across-numa"),
    ],
)
def test_options_that_contradict_each_other_are_refused(first: str, second: str) -> None:
    """Only when both are true."""
    gates = {"CPUManagerPolicyAlphaOptions": True}
    text = refusal(cpu_options, settings("1.36.4", {first: "true", second: "true"}, gates=gates))
    assert text == f"static policy options {first} and {second} can not be used at the same time"
    assert cpu_options(settings("1.36.4", {first: "true", second: "false"}, gates=gates)) != CpuOptions()


def test_align_by_socket_does_not_go_with_single_numa_node() -> None:
    """The misspelling is the kubelet's."""
    gates = {"CPUManagerPolicyAlphaOptions": True}
    text = refusal(cpu_options, settings("1.36.4", {"align-by-socket": "true"}, gates=gates, policy="single-numa-node"))
    assert text == (
        "Topolgy manager single-numa-node policy is incompatible with CPUManager align-by-socket policy option"
    )


def test_topology_options_are_read() -> None:
    """max-allowable-numa-nodes may only raise the limit of 8."""
    given = {"prefer-closest-numa-nodes": "true", "max-allowable-numa-nodes": "16"}
    assert topology_options(settings("1.36.4", topology=given)) == TopologyOptions(prefer_closest=True, max_nodes=16)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ("7", 'the minimum value of "max-allowable-numa-nodes" should not be less than 8'),
        (
            "8.0",
            'unable to convert policy option to integer "max-allowable-numa-nodes": '
            'strconv.Atoi: parsing "8.0": invalid syntax',
        ),
    ],
)
def test_a_limit_of_numa_nodes_is_a_number_from_8(value: str, message: str) -> None:
    """1.31 and later."""
    assert refusal(topology_options, settings("1.36.4", topology={"max-allowable-numa-nodes": value})) == message


@pytest.mark.parametrize(
    ("release", "gates", "text"),
    [
        ("1.27.3", {}, "Topology Manager Policy Alpha-level Options not enabled"),
        (
            "1.31.0",
            {"TopologyManagerPolicyBetaOptions": False},
            "Topology Manager Policy Beta-level Options not enabled",
        ),
    ],
)
def test_a_topology_option_needs_the_gate_of_its_stage(release: str, gates: dict[str, bool], text: str) -> None:
    """prefer-closest-numa-nodes: alpha in 1.26, beta in 1.28, stable in 1.32."""
    message = refusal(topology_options, settings(release, topology={"prefer-closest-numa-nodes": "true"}, gates=gates))
    assert message == f'{text}, but option "prefer-closest-numa-nodes" provided'


def test_the_text_for_a_gated_topology_option_is_lower_case_since_1_33() -> None:
    """max-allowable-numa-nodes is beta up to 1.34."""
    gates = {"TopologyManagerPolicyBetaOptions": False}
    assert refusal(topology_options, settings("1.34.0", topology={"max-allowable-numa-nodes": "8"}, gates=gates)) == (
        'topology manager policy beta-level options not enabled, but option "max-allowable-numa-nodes" provided'
    )


def test_policy_none_looks_at_its_options_only_before_1_28() -> None:
    """Up to 1.27 options were checked for policy none too."""
    assert topology_options(settings("1.36.4", topology={"bogus": "x"}, policy="none")) == TopologyOptions()
    text = refusal(topology_options, settings("1.27.3", topology={"bogus": "x"}, policy="none"))
    assert text == 'unknown Topology Manager Policy option: "bogus"'
