"""The state files, byte for byte."""

import pytest
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.files import state_files
from numafit.decision.life import reconcile, release
from numafit.decision.node import Node
from numafit.decision.start import Start, start
from numafit.ledger.ledger import Ledger
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE, MEMORY_FILE
from numafit.machine.model import Device, Machine, NumaNode
from numafit.managers.device.plugin import Plugin
from tests.decision.strategies import GPU, MI, SEED_BOX, box, cpus, memory, pod, running, settings

SEED_POD = "39b37746-7f5e-4064-b8e1-eebd2bfaa003"
BIG_BOX = replace(box(2, 4), numa_nodes=(NumaNode(0, 192359 * MI), NumaNode(1, 193493 * MI)))
"""Two NUMA nodes as in a field report of a kubelet 1.28."""
MANAGERS = {"PodLevelResourceManagers": True}


def big_node() -> tuple[Node, Ledger]:
    reserved = {0: {"memory": "2Gi"}, 1: {"memory": "2Gi"}}
    return running(BIG_BOX, settings(memory="Static", reserved_memory=reserved))


@pytest.mark.parametrize("version", ["1.20", "1.36"])
def test_the_cpu_file_of_a_field_report(version: str) -> None:
    """The very bytes that a kubelet 1.20 left, before and after a pod of three CPUs; the same up to 1.36."""
    node, ledger = running(SEED_BOX, settings(version, cpu="static"))
    empty = '{"policyName":"static","defaultCpuSet":"0-27","checksum":273146150}'
    assert state_files(node, ledger)[CPU_FILE] == empty
    decision = admit(node, ledger, pod(SEED_POD, cpus("app", "3")))
    assert state_files(node, decision.ledger)[CPU_FILE] == (
        '{"policyName":"static","defaultCpuSet":"0,4-27","entries":{"39b37746-7f5e-4064-b8e1-eebd2bfaa003":'
        '{"app":"1-3"}},"checksum":3300516549}'
    )


def test_two_pods_in_the_cpu_file() -> None:
    """Keys in byte order, whoever came first (1.18 to 1.36)."""
    node, ledger = running(SEED_BOX, settings("1.20", cpu="static", topology="best-effort"))
    ledger = admit(node, ledger, pod("6c5f3038-adfc-485d-9943-3fd5e825300d", cpus("app", "14"))).ledger
    ledger = admit(node, ledger, pod("55784671-0e4e-49e2-b4d6-c0377ca14c81", cpus("app", "12"))).ledger
    assert state_files(node, ledger)[CPU_FILE] == (
        '{"policyName":"static","defaultCpuSet":"0,13","entries":{"55784671-0e4e-49e2-b4d6-c0377ca14c81":'
        '{"app":"1-12"},"6c5f3038-adfc-485d-9943-3fd5e825300d":{"app":"14-27"}},"checksum":3558029577}'
    )


def test_a_node_that_manages_nothing_still_has_files() -> None:
    """Policies none and None (1.22 to 1.36)."""
    node, ledger = running(box(2, 4), settings())
    assert state_files(node, ledger) == {
        CPU_FILE: '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}',
        MEMORY_FILE: '{"policyName":"None","machineState":{},"checksum":4236770233}',
    }


def test_the_formats_of_managed_pods_have_checksums_of_their_own() -> None:
    """Also while there are none: memory format v2 and CPU format v3 (1.36 with PodLevelResourceManagers)."""
    node, ledger = running(box(2, 4), settings(gates=MANAGERS))
    files = state_files(node, ledger)
    assert files[MEMORY_FILE] == '{"policyName":"None","machineState":{},"checksum":512582496}'
    assert files[CPU_FILE] != '{"policyName":"none","defaultCpuSet":"","checksum":1353318690}'


def test_the_memory_file_of_two_nodes() -> None:
    """Idle, with 8Gi on node 0, and with 200Gi across both: the lower node is drained first (1.21 to 1.36)."""
    node, ledger = big_node()
    idle = (
        '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":201703030784,'
        '"systemReserved":2147483648,"allocatable":199555547136,"reserved":0,"free":199555547136}},"cells":[0]},'
        '"1":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":202892115968,"systemReserved":2147483648,'
        '"allocatable":200744632320,"reserved":0,"free":200744632320}},"cells":[1]}},"checksum":3413209923}'
    )
    assert state_files(node, ledger)[MEMORY_FILE] == idle
    small = admit(node, ledger, pod("aaaaaaaa-0000-0000-0000-000000000001", memory("cuda-container", "8Gi")))
    assert state_files(node, small.ledger)[MEMORY_FILE] == (
        '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"memory":{"total":201703030784,'
        '"systemReserved":2147483648,"allocatable":199555547136,"reserved":8589934592,"free":190965612544}},'
        '"cells":[0]},"1":{"numberOfAssignments":0,"memoryMap":{"memory":{"total":202892115968,'
        '"systemReserved":2147483648,"allocatable":200744632320,"reserved":0,"free":200744632320}},"cells":[1]}},'
        '"entries":{"aaaaaaaa-0000-0000-0000-000000000001":{"cuda-container":[{"numaAffinity":[0],"type":"memory",'
        '"size":8589934592}]}},"checksum":1479410399}'
    )
    wide = admit(node, ledger, pod("aaaaaaaa-0000-0000-0000-000000000002", memory("big", "200Gi")))
    assert state_files(node, wide.ledger)[MEMORY_FILE] == (
        '{"policyName":"Static","machineState":{"0":{"numberOfAssignments":1,"memoryMap":{"memory":{"total":201703030784,'
        '"systemReserved":2147483648,"allocatable":199555547136,"reserved":199555547136,"free":0}},"cells":[0,1]},'
        '"1":{"numberOfAssignments":1,"memoryMap":{"memory":{"total":202892115968,"systemReserved":2147483648,'
        '"allocatable":200744632320,"reserved":15192817664,"free":185551814656}},"cells":[0,1]}},'
        '"entries":{"aaaaaaaa-0000-0000-0000-000000000002":{"big":[{"numaAffinity":[0,1],"type":"memory",'
        '"size":214748364800}]}},"checksum":2438898867}'
    )


def test_the_device_file_is_there_once_a_plugin_has_registered() -> None:
    """Before, no file; then the healthy devices, and `null` for no entries (all releases)."""
    machine: Machine = box(1, 2, devices=[Device(GPU, "b"), Device(GPU, "a")])
    known = start(Start(machine=machine, settings=settings(), plugins={GPU: Plugin()}))
    assert DEVICE_FILE not in state_files(known.node, known.restored)
    assert state_files(known.node, known.ledger)[DEVICE_FILE] == (
        '{"Data":{"PodDeviceEntries":null,"RegisteredDevices":{"nvidia.com/gpu":["a","b"]}},"Checksum":2784922615}'
    )


def test_the_device_file_lags_behind_the_removal_of_stale_pods() -> None:
    """A pod that is gone stands in it until the next allocation or list of a plugin (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    first = admit(node, ledger, pod("first", cpus("app", "1", {GPU: "1"})))
    with_entry = state_files(node, first.ledger)[DEVICE_FILE]
    assert '"PodUID":"first"' in with_entry
    gone = admit(node, release(first.ledger, "first"), pod("second", cpus("app", "1"))).ledger
    assert state_files(node, gone)[DEVICE_FILE] == with_entry
    after = state_files(node, admit(node, gone, pod("third", cpus("app", "1", {GPU: "1"}))).ledger)[DEVICE_FILE]
    assert ('"PodUID":"first"' in after, '"PodUID":"third"' in after) == (False, True)


def test_only_files_that_may_have_changed_are_made() -> None:
    """Measured against an earlier ledger."""
    node, ledger = running(SEED_BOX, settings(cpu="static"))
    assert state_files(node, ledger, ledger) == {}
    decision = admit(node, ledger, pod("p", cpus("app", "3")))
    assert set(state_files(node, decision.ledger, ledger)) == {CPU_FILE}


def test_a_file_that_was_only_read_stays_as_it_was_found() -> None:
    """White space, order and all, until the state changes (all releases)."""
    found = '{"policyName": "static", "defaultCpuSet": "0-27", "checksum": 273146150}'
    known = start(Start(machine=SEED_BOX, settings=settings(cpu="static"), files={CPU_FILE: found}))
    node, ledger = known.node, known.restored
    assert state_files(node, ledger)[CPU_FILE] == found
    after = admit(node, ledger, pod(SEED_POD, cpus("app", "3"))).ledger
    assert state_files(node, after)[CPU_FILE].endswith('"checksum":3300516549}')


def test_the_formats_of_1_37_do_not_depend_on_a_gate() -> None:
    """What the gates add stands in `data`; the checksums are those of a kubelet 1.37."""
    node, ledger = running(box(2, 4), settings("1.37"))
    assert state_files(node, ledger) == {
        CPU_FILE: '{"policyName":"none","defaultCpuSet":"","checksum":1353318690,'
        r'"data":"{\"policyName\":\"none\",\"defaultCpuSet\":\"\"}","dataChecksum":3028111495}',
        MEMORY_FILE: '{"policyName":"None","machineState":{},"checksum":4236770233,'
        r'"data":"{\"policyName\":\"None\",\"machineState\":{}}","dataChecksum":3093843326}',
    }
    gated, same = running(box(2, 4), settings("1.37", gates=MANAGERS))
    assert state_files(gated, same) == state_files(node, ledger)


def test_baselines_are_the_exclusive_cpus() -> None:
    """1.37 with InPlacePodVerticalScalingExclusiveCPUs."""
    gates = {"InPlacePodVerticalScalingExclusiveCPUs": True}
    node, ledger = running(SEED_BOX, settings("1.37", cpu="static", gates=gates))
    ledger = admit(node, ledger, pod(SEED_POD, cpus("app", "3"))).ledger
    assert state_files(node, ledger)[CPU_FILE].endswith(
        r'\"baselines\":{\"39b37746-7f5e-4064-b8e1-eebd2bfaa003\":{\"app\":{\"baseline\":\"1-3\"}}}}",'
        r'"dataChecksum":3915275382}'
    )


def test_baselines_that_were_read_stay_until_their_container_goes() -> None:
    """1.37 with InPlacePodVerticalScalingExclusiveCPUs, after a kubelet that changed exclusive CPUs."""
    gated = settings("1.37", cpu="static", gates={"InPlacePodVerticalScalingExclusiveCPUs": True})
    first, empty = running(SEED_BOX, gated)
    held = admit(first, empty, pod("a", cpus("app", "3"), cpus("other", "1"))).ledger
    read = {"a": {"app": 0b10, "other": None}, "b": {"app": 0b100}}
    apart = replace(held, cpu=replace(held.cpu, baselines=read, file=None))
    text = state_files(first, apart)[CPU_FILE]
    assert r"\"baselines\":{\"a\":{\"app\":{\"baseline\":\"1\"}},\"b\":{\"app\":{\"baseline\":\"2\"}}}" in text
    known = start(Start(machine=SEED_BOX, settings=gated, files={CPU_FILE: text}))
    assert known.ledger.cpu.baselines == read
    gone = reconcile(known.node, replace(known.ledger, active={}))
    assert gone.cpu.baselines == {"b": {"app": 0b100}}
    assert r"\"baselines\":{\"b\":{\"app\":{\"baseline\":\"2\"}}}" in state_files(known.node, gone)[CPU_FILE]
