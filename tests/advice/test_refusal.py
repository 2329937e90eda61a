"""A refused start as bad input: at the field that is to blame, wherever it was set last."""

import pytest

from numafit.advice.refusal import start_refusal
from numafit.decision.stage import new_stage
from numafit.decision.start import Start
from numafit.errors import InputError, StartError, StartRefusedError
from numafit.machine.catalogue.names import machine_named
from numafit.managers.cpu.start import new_cpu_manager
from numafit.managers.memory.start import new_memory_manager
from numafit.managers.protocol import Choices
from numafit.managers.topology.policy import topology_policy
from numafit.settings.read.arguments import arguments_of_env
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.settings.settings import Settings
from numafit.settings.versions import parse_version
from tests.advice.lint.lint_files import GOOD, HEAD

FILE = "kubelet.yaml"


def refused(text: str | None, *, env: str = "", drop_in: str = "", version: str = "1.36") -> StartRefusedError:
    """As the command line, the API and the page make it."""
    drop_ins = (ConfigFile("10.conf", drop_in),) if drop_in else ()
    file = None if text is None else ConfigFile(FILE, text)
    source = "kubelet.env" if env else ""
    sources = ConfigSources(file, drop_ins, arguments_of_env(env, source), source, env)
    try:
        new_stage(Start(version=parse_version(version), sources=sources, machine=machine_named("laptop")))
    except StartError as error:
        return start_refusal(error, sources)
    raise AssertionError("it starts")


def shown(error: InputError) -> tuple[str, int | None, int | None, str, str]:
    return error.source, error.line, error.column, error.field, error.cure


def test_a_value_of_the_file_is_shown_there() -> None:
    error = refused(HEAD + "memoryManagerPolicy: static\n")
    assert shown(error) == (FILE, 3, 22, "memoryManagerPolicy", "write None or Static")
    assert error.message == 'the kubelet would not start: unknown policy: "static"'
    assert error.refusal.code == "memory-policy"


def test_an_empty_file_is_refused_in_the_words_of_the_kubelet() -> None:
    """There is no document in it to look for a field."""
    cure = "begin the file with apiVersion: kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration"
    assert str(refused("")) == f'{FILE}: the kubelet would not start: kubelet config file "{FILE}" was empty ({cure})'


def test_a_value_of_a_drop_in_is_shown_in_it() -> None:
    """It lies over the file."""
    error = refused(HEAD + "memoryManagerPolicy: None\n", drop_in=HEAD + "memoryManagerPolicy: static\n")
    assert shown(error)[:4] == ("10.conf", 3, 22, "memoryManagerPolicy")


def test_a_value_that_a_drop_in_merges_with_is_shown_in_the_file() -> None:
    """Both set options; only the file sets this one."""
    text = GOOD + 'cpuManagerPolicyOptions:\n  full-pcpus-only: "maybe"\n'
    error = refused(text, drop_in=HEAD + 'cpuManagerPolicyOptions: {strict-cpu-reservation: "true"}\n')
    assert shown(error)[::3] == (FILE, "cpuManagerPolicyOptions.full-pcpus-only")
    assert error.line == text.count("\n")
    assert error.column == 20


@pytest.mark.parametrize("flag", ["--feature-gates=Nope=true", "--feature-gates Nope=true"])
def test_a_gate_is_shown_where_it_is_named(flag: str) -> None:
    """Flags add to the gates of the file."""
    in_file = refused(HEAD + "featureGates: {Foo: true}\n", env='ARGS="--feature-gates=CPUManagerPolicyOptions=true"\n')
    assert shown(in_file)[:4] == (FILE, 3, 21, "featureGates.Foo")
    in_flag = refused(HEAD + "featureGates: {CPUManagerPolicyOptions: true}\n", env=f'ARGS="{flag}"\n')
    assert shown(in_flag)[:4] == ("kubelet.env", 1, 7, "featureGates.Nope")


@pytest.mark.parametrize("drop_in", ["maxPods: 5\n", "apiVersion: v1\nkind: Pod\n", "- 1\n"])
def test_a_drop_in_of_no_kind_is_named(drop_in: str) -> None:
    cure = "begin the file with apiVersion: kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration"
    assert shown(refused(GOOD, drop_in=drop_in)) == ("10.conf", None, None, "", cure)


def test_an_unknown_option_is_answered_with_those_of_the_release() -> None:
    error = refused(GOOD + 'cpuManagerPolicyOptions: {fast: "true"}\n', version="1.25")
    assert error.cure == "known options are full-pcpus-only, distribute-cpus-across-numa, align-by-socket"


@pytest.mark.parametrize("text", [HEAD + "maxPods: [\n", ""])
def test_a_flag_that_is_refused_before_the_file_is_read_is_shown_though_the_file_is_broken(text: str) -> None:
    error = refused(text, env="ARGS=--feature-gates=Nope=true\n")
    assert shown(error)[:4] == ("kubelet.env", 1, 6, "featureGates.Nope")


def test_a_value_of_a_flag_is_shown_at_the_flag() -> None:
    """It lies over everything."""
    error = refused(HEAD + "memoryManagerPolicy: None\n", env='ARGS="--v=2 --memory-manager-policy=static"\n')
    assert shown(error)[:4] == ("kubelet.env", 1, 13, "memoryManagerPolicy")


def test_a_file_that_cannot_be_decoded_is_shown_before_any_flag_counts() -> None:
    error = refused(HEAD + "memoryManagerPolicy: 3\n", env="ARGS=--memory-manager-policy=None\n")
    assert shown(error)[:4] == (FILE, 3, 22, "memoryManagerPolicy")


def test_too_much_reserved_is_shown_at_the_field_that_reserves_it() -> None:
    """The kubelet speaks of CPUs, which three fields may reserve."""
    error = refused(HEAD + "cpuManagerPolicy: static\nsystemReserved: {cpu: 500}\n".replace("500", '"500"'))
    assert shown(error)[:4] == (FILE, 4, 23, "systemReserved.cpu")


def test_a_field_that_reserves_other_things_is_not_to_blame() -> None:
    text = HEAD + 'cpuManagerPolicy: static\nkubeReserved: {memory: 1Gi}\nsystemReserved: {cpu: "500"}\n'
    assert shown(refused(text))[:4] == (FILE, 5, 23, "systemReserved.cpu")
    assert shown(refused(text, drop_in=HEAD + "systemReserved: {memory: 1Gi}\n"))[:2] == (FILE, 5)
    assert shown(refused(text, env="ARGS=--kube-reserved=memory=2Gi\n"))[:2] == (FILE, 5)
    assert shown(refused(text, env="ARGS=--kube-reserved=cpu=1\n"))[::3] == ("kubelet.env", "kubeReserved.cpu")


def test_the_example_that_nobody_wrote_gets_no_cure() -> None:
    sources = ConfigSources(ConfigFile("the example", HEAD + "maxPods: 1\n"), example=True)
    error = start_refusal(StartError("stage", "no", code="max-pods", field=("maxPods",)), sources)
    assert str(error) == "the example: the kubelet would not start: no"


# What searching in the words took for something else


def test_an_unknown_enforcement_is_no_policy_option() -> None:
    error = refused(HEAD + "enforceNodeAllocatable: [foo]\n")
    cure = "name pods, kube-reserved, system-reserved or none"
    assert shown(error) == (FILE, 3, 25, "enforceNodeAllocatable", cure)


@pytest.mark.parametrize(
    ("line", "column", "field", "cure"),
    [
        ("evictionSoft: 3", 15, "evictionSoft", "write a mapping of names to values"),
        ("maxPods: many", 10, "maxPods", "write a number, without quotes"),
        ("maxPods: 1.5", 10, "maxPods", "write a number that the field can hold"),
        ("cgroupsPerQOS: certainly", 16, "cgroupsPerQOS", "write true or false, without quotes"),
        ("kubeReserved: {cpu: 3}", 21, "kubeReserved.cpu", 'write it between quotes: "3"'),
        ("reservedSystemCPUs: 0", 21, "reservedSystemCPUs", 'write it between quotes: "0"'),
        ("cpuManagerPolicy: [static]", 19, "cpuManagerPolicy", "write one text"),
        ("enforceNodeAllocatable: pods", 25, "enforceNodeAllocatable", "write a list"),
        ("reservedMemory: [{numaNode: x}]", 29, "reservedMemory[0].numaNode", "write a number, without quotes"),
    ],
)
def test_a_value_of_the_wrong_type_is_cured_by_its_type(line: str, column: int, field: str, cure: str) -> None:
    """Not by a value of another field with a like name, or of the right type."""
    error = refused(HEAD + f"evictionHard: {{}}\n{line}\n")
    assert shown(error) == (FILE, 4, column, field, cure)


def test_what_stands_in_a_file_without_a_kind_is_not_to_blame() -> None:
    """The kubelet quotes the whole file."""
    error = refused("maxPods: 10\ncpuManagerPolicy: static\n")
    cure = "begin the file with apiVersion: kubelet.config.k8s.io/v1beta1 and kind: KubeletConfiguration"
    assert shown(error) == (FILE, None, None, "", cure)


@pytest.mark.parametrize(
    ("gate", "cure"),
    [
        ("Foo: true", "remove it, or check its spelling and the release"),
        ("CPUManagerPolicyOptions: false", "remove it: the release does not let it be changed"),
    ],
)
def test_a_bad_gate_is_shown_where_it_is_set(gate: str, cure: str) -> None:
    error = refused(HEAD + f"featureGates:\n  {gate}\n")
    name, _, _ = gate.partition(":")
    assert shown(error) == (FILE, 4, len(name) + 5, f"featureGates.{name}", cure)


def test_an_option_that_is_no_number_is_shown_where_it_is_set() -> None:
    options = "topologyManagerPolicyOptions: {max-allowable-numa-nodes: x}\n"
    error = refused(HEAD + f"topologyManagerPolicy: restricted\n{options}")
    field = "topologyManagerPolicyOptions.max-allowable-numa-nodes"
    assert shown(error) == (FILE, 4, 58, field, "write a number of 8 or more")


def test_a_bad_value_of_a_flag_is_not_looked_for_in_the_file() -> None:
    """Even where the file has the field that the flag would set."""
    error = refused(GOOD, env="ARGS=--v=2\nMORE=--kube-reserved=much\n")
    assert shown(error) == ("kubelet.env", 2, 6, "", "correct the value of the flag")


def test_a_flag_without_its_value_is_shown() -> None:
    error = refused(None, env="ARGS=--max-pods\n")
    assert shown(error) == ("kubelet.env", 1, 6, "", "give the flag a value")


@pytest.mark.parametrize("version", ["1.26", "1.36"])
@pytest.mark.parametrize("owner", ["kube", "system"])
def test_what_cannot_be_reserved_is_shown_in_the_words_of_any_release(owner: str, version: str) -> None:
    """Up to 1.26 the kubelet does not say whose reservation it is (1.20 to 1.26)."""
    error = refused(HEAD + f"{owner}Reserved: {{rain: 1}}\n".replace("1}", '"1"}'), version=version)
    field = f"{owner}Reserved"
    assert shown(error) == (
        FILE,
        3,
        len(field) + 10,
        f"{field}.rain",
        "reserve cpu, memory, ephemeral-storage or pid",
    )


def test_a_bad_amount_is_not_told_as_a_bad_name() -> None:
    error = refused(HEAD + "kubeReserved:\n  memory: 1Gi\n  cpu: few\n")
    cure = "write an amount of zero or more, such as 500m or 2Gi"
    assert shown(error) == (FILE, 5, 8, "kubeReserved.cpu", cure)


def test_an_unknown_policy_belongs_to_the_manager_that_does_not_know_it() -> None:
    """Three managers say the same words."""
    release = parse_version("1.36")
    machine = machine_named("laptop")
    with pytest.raises(StartError) as topology:
        topology_policy(Settings(release, topology_policy="best"), machine)
    with pytest.raises(StartError) as cpu:
        new_cpu_manager(machine, Settings(release, cpu_policy="best"), Choices())
    with pytest.raises(StartError) as memory:
        new_memory_manager(machine, Settings(release, memory_policy="best"))
    assert {str(error.value) for error in (topology, cpu, memory)} == {'unknown policy: "best"'}
    text = HEAD + "topologyManagerPolicy: best\ncpuManagerPolicy: best\nmemoryManagerPolicy: best\n"
    sources = ConfigSources(ConfigFile(FILE, text))
    assert [start_refusal(error.value, sources).line for error in (topology, cpu, memory)] == [3, 4, 5]


@pytest.mark.parametrize("value", ["x", "x%", "-1", "101%"])
def test_a_bad_threshold_is_shown_whether_or_not_the_kubelet_names_it(value: str) -> None:
    error = refused(HEAD + f'evictionHard: {{memory.available: "{value}"}}\n')
    cure = "write an amount such as 100Mi, or a share such as 5%"
    assert shown(error) == (FILE, 3, 34, "evictionHard[memory.available]", cure)
