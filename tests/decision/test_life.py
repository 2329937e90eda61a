"""What happens on a node besides admissions."""

import pytest
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.decision.admit import admit
from numafit.decision.files import state_files
from numafit.decision.life import list_devices, reconcile, release, start_containers
from numafit.errors import StartError
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE
from numafit.machine.model import Device
from tests.decision.lives import restart_with
from tests.decision.strategies import GI, GPU, SEED_BOX, box, container, cpus, gpus, memory, pod, running, settings

STATIC = settings(cpu="static")


def test_a_released_pod_keeps_what_it_holds_until_stale_state_is_removed() -> None:
    """It is no longer active and has no hints any more; the reconcile loop then frees its CPUs (all releases)."""
    node, ledger = running(SEED_BOX, settings(cpu="static", topology="best-effort"))
    held = admit(node, ledger, pod("p", cpus("app", "3"))).ledger
    gone = release(held, "p")
    assert (gone.active, gone.affinity, gone.cpu) == ({}, {}, held.cpu)
    after = reconcile(node, gone)
    assert (cpuset_text(after.cpu.default), after.cpu.entries) == ("0-27", {})


def test_to_release_a_pod_that_is_not_there_changes_nothing() -> None:
    """A rejected pod is deleted, for example."""
    _, ledger = running(SEED_BOX, STATIC)
    assert release(ledger, "nobody") == ledger


def test_policy_none_has_no_reconcile_loop() -> None:
    """Entries that a policy none restored stay (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    left = replace(ledger, cpu=replace(ledger.cpu, entries={"gone": {"app": 2}}))
    assert reconcile(node, left) is left


@pytest.mark.parametrize(("version", "pool"), [("1.31", "0,4-27"), ("1.32", "0-27")])
def test_up_to_1_31_the_youngest_pod_survives_its_own_removal(version: str, pool: str) -> None:
    """It is remembered as pending, and every tick of the loop spares it until another pod comes."""
    node, ledger = running(SEED_BOX, settings(version, cpu="static"))
    gone = release(admit(node, ledger, pod("p", cpus("app", "3"))).ledger, "p")
    assert cpuset_text(reconcile(node, gone).cpu.default) == pool


def test_when_containers_start_finished_init_containers_give_their_memory_back() -> None:
    """A sidecar keeps it (1.29 and later)."""
    ordered = settings(memory="Static", reserved_memory={0: {"memory": "1Gi"}})
    node, ledger = running(box(1, 4, memory=11 * GI), ordered)
    wanted = pod("p", memory("app", "1Gi"), init=[memory("setup", "4Gi"), memory("side", "2Gi", restartable=True)])
    admitted = admit(node, ledger, wanted).ledger
    assert set(admitted.memory.entries["p"]) == {"setup", "side", "app"}
    after = start_containers(node, admitted, "p")[0]
    assert set(after.memory.entries["p"]) == {"side", "app"}
    assert after.memory.nodes[0].tables["memory"].reserved == 3 * GI


def test_without_a_memory_manager_starting_changes_nothing() -> None:
    """Kubelet 1.20."""
    node, ledger = running(SEED_BOX, settings("1.20", cpu="static"))
    admitted = admit(node, ledger, pod("p", cpus("app", "3"))).ledger
    assert start_containers(node, admitted, "p")[0] is admitted


def test_a_plugin_may_change_its_list_at_any_time() -> None:
    """A device that fell sick is no longer given away; who has it keeps it (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    held = admit(node, ledger, pod("p", container("app", {GPU: "1"}))).ledger
    sick = replace(gpus(0)[0], healthy=False)
    after = list_devices(node, held, GPU, [sick, *gpus(0, 1, 1)[1:]])
    assert after.device.held == held.device.held
    assert admit(node, after, pod("q", container("app", {GPU: "3"}))).message == (
        f"Allocate failed due to requested number of devices unavailable for {GPU}. Requested: 3, Available: 2, "
        "which is unexpected"
    )


# --- restart ---------------------------------------------------------------------------------------------------------


def test_after_a_restart_pods_have_what_they_had() -> None:
    """Admitted again in their old order, from the state files alone; what was only in memory is lost (all releases)."""
    node, ledger = running(SEED_BOX, settings(cpu="static", topology="restricted"))
    young = pod("a-young", cpus("app", "3", {GPU: "1"}))
    old = pod("b-old", cpus("app", "2"), init=[cpus("setup", "4")])
    before = admit(node, admit(node, ledger, old).ledger, young).ledger
    after = restart_with(node, before, SEED_BOX.devices, plugins_first=True)
    assert [(each.pod.uid, each.admitted) for each in after.readmitted] == [("b-old", True), ("a-young", True)]
    assert (after.situation.ledger.ready, after.situation.ledger.running) == (True, frozenset())
    assert list(after.situation.ledger.active) == ["b-old", "a-young"]
    assert state_files(node, after.situation.ledger) == state_files(node, before)


@pytest.mark.parametrize(
    ("version", "plugins_first", "expected"),
    [
        ("1.27.5", False, f"no healthy devices present; cannot allocate unhealthy devices {GPU}"),
        ("1.27.5", True, None),
        ("1.27.6", False, None),
        ("1.27.1", False, None),
        ("1.36", False, None),
    ],
)
def test_running_pods_with_devices_may_be_rejected_before_their_plugin_is_back(
    version: str, plugins_first: bool, expected: str | None
) -> None:
    """From the health checks (1.25.10, 1.26.5, 1.27.2) to the look at what runs (1.25.14, 1.26.9, 1.27.6)."""
    node, ledger = running(SEED_BOX, settings(version))
    before = admit(node, ledger, pod("p", container("app", {GPU: "1"}))).ledger
    after = restart_with(node, before, SEED_BOX.devices, plugins_first=plugins_first)
    decision = after.readmitted[0]
    message = "" if expected is None else f"Allocate failed due to {expected}, which is unexpected"
    assert (decision.admitted, decision.message) == (expected is None, message)
    assert list(after.situation.ledger.active) == ([] if expected else ["p"])
    assert after.situation.ledger.device.healthy == {GPU: frozenset({"GPU0", "GPU1", "GPU2"})}


def test_stale_state_waits_until_the_restart_is_over() -> None:
    """The pod is gone and its CPUs are still in the file; nothing is removed while pods are admitted again."""
    node, ledger = running(SEED_BOX, STATIC)
    held = admit(node, admit(node, ledger, pod("gone", cpus("app", "3"))).ledger, pod("here", cpus("app", "2"))).ledger
    after = restart_with(node, release(held, "gone"), (), plugins_first=True).situation.ledger
    assert set(after.cpu.entries) == {"gone", "here"}
    assert set(reconcile(node, after).cpu.entries) == {"here"}


def test_full_pcpus_only_may_reject_a_running_pod() -> None:
    """The free physical CPUs are counted before the look into the state (1.27 to 1.36)."""
    node, ledger = running(box(1, 4, 2), settings(cpu="static", options={"full-pcpus-only": "true"}))
    before = admit(node, ledger, pod("p", cpus("app", "6"))).ledger
    decision = restart_with(node, before, (), plugins_first=True).readmitted[0]
    assert (decision.admitted, decision.reason) == (False, "SMTAlignmentError")


def test_finished_init_containers_get_their_memory_again_and_keep_it() -> None:
    """No container starts, so nobody takes it from them (1.22 to 1.36)."""
    ordered = settings(memory="Static", reserved_memory={0: {"memory": "1Gi"}})
    node, ledger = running(box(1, 4, memory=11 * GI), ordered)
    wanted = pod("p", memory("app", "1Gi"), init=[memory("setup", "4Gi")])
    before = start_containers(node, admit(node, ledger, wanted).ledger, "p")[0]
    assert before.memory.nodes[0].tables["memory"].reserved == GI
    after = restart_with(node, before, (), plugins_first=True).situation.ledger
    assert after.memory.nodes[0].tables["memory"].reserved == 5 * GI
    assert set(after.memory.entries["p"]) == {"setup", "app"}


def test_a_node_whose_strict_reservation_left_nothing_does_not_start_again() -> None:
    """Every other CPU is exclusive, so the shared pool is empty (1.32 and later)."""
    ordered = settings(cpu="static", options={"strict-cpu-reservation": "true"})
    node, ledger = running(box(1, 4), ordered)
    before = admit(node, ledger, pod("p", cpus("app", "3"))).ledger
    assert '"defaultCpuSet":""' in state_files(node, before)[CPU_FILE]
    with pytest.raises(StartError, match=r"^default cpuset cannot be empty$"):
        restart_with(node, before, (), plugins_first=True)


def test_a_crash_ends_the_restart() -> None:
    """The first pod holds a device that is no longer listed: nobody comes after it (1.34 and later)."""
    machine = box(2, 4, devices=gpus(0, 1))
    node, ledger = running(machine, settings(topology="restricted"))
    for uid in ("first", "second"):
        ledger = admit(node, ledger, pod(uid, container("app", {GPU: "1"}))).ledger
    after = restart_with(node, ledger, [Device(GPU, "GPU1", (1,))], plugins_first=True)
    assert [(each.pod.uid, bool(each.panic)) for each in after.readmitted] == [("first", True)]


def test_a_device_file_that_cannot_be_read_is_reported() -> None:
    """The kubelet goes on, and the devices of running pods are free again (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    held = admit(node, ledger, pod("p", container("app", {GPU: "1"}))).ledger
    broken = replace(held, device=replace(held.device, written=None, file="{"))
    assert state_files(node, broken)[DEVICE_FILE] == "{"
    after = restart_with(node, broken, SEED_BOX.devices, plugins_first=True)
    assert after.device_file_error
    assert after.readmitted[0].admitted
