"""The kubelet starts again over its state."""

from collections.abc import Sequence

import pytest
from msgspec.structs import replace

from numafit.decision.admit import admit
from numafit.decision.files import state_files
from numafit.decision.history.event import Beginning
from numafit.decision.history.restart import Restart, restart
from numafit.decision.history.situation import Situation, situation_of
from numafit.decision.life import reconcile, release, start_containers
from numafit.errors import StartError
from numafit.ledger.state_files import CPU_FILE, DEVICE_FILE
from numafit.machine.model import Device
from numafit.managers.protocol import Choices, WatchedChoices
from numafit.quantity import Quantity
from numafit.settings.read.loader import ConfigFile, ConfigSources
from numafit.workload.pod import CRITICAL, Pod
from tests.advice.stages import stage
from tests.decision.lives import restart_with
from tests.decision.strategies import GI, GPU, SEED_BOX, box, container, cpus, gpus, memory, pod, running, settings

STATIC = settings(cpu="static")


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
    assert after.situation.unstarted == ()


def test_what_did_not_run_before_a_crash_does_not_run_at_the_next_start() -> None:
    machine = box(2, 4, devices=gpus(0, 1))
    node, ledger = running(machine, settings(topology="restricted"))
    ledger = admit(node, ledger, pod("first", container("app", {GPU: "1"}))).ledger
    begin = down(situation_of(node, ledger, None), pod("new", container("app", {})))
    begin = replace(begin, plugins={GPU: (Device(GPU, "GPU1", (1,)),)})
    crashed = restart(begin, Beginning()).situation
    assert (crashed.unstarted, [each.uid for each in crashed.waiting]) == ((), ["new"])
    rebooted = restart(begin, Beginning(reboot=True)).situation
    assert (rebooted.unstarted, [each.uid for each in rebooted.waiting]) == ((("first", ("app",)),), ["new"])


def test_a_device_file_that_cannot_be_read_does_not_keep_a_kubelet_from_starting() -> None:
    """The kubelet goes on, and the devices of running pods are free again (all releases)."""
    node, ledger = running(SEED_BOX, settings())
    held = admit(node, ledger, pod("p", container("app", {GPU: "1"}))).ledger
    broken = replace(held, device=replace(held.device, written=None, file="{"))
    assert state_files(node, broken)[DEVICE_FILE] == "{"
    after = restart_with(node, broken, SEED_BOX.devices, plugins_first=True)
    assert [decision.admitted for decision in after.readmitted] == [True]


# --- what happened while it was down ---------------------------------------------------------------------------------


def held_by(after: Restart) -> dict[str, str]:
    """Pod -> what came of it: `admitted`, or its reason."""
    return {decision.pod.uid: decision.reason or "admitted" for decision in after.readmitted}


def down(on: Situation, *waiting: Pod, gone: str = "") -> Situation:
    ledger = release(on.ledger, gone) if gone else on.ledger
    return replace(on, ledger=ledger, waiting=waiting, down=True)


def test_pods_that_came_meanwhile_meet_what_deleted_pods_held() -> None:
    """Nothing stale is removed before all sources are ready: a pod that would fit afterwards is refused (1.36)."""
    node, ledger = running(box(1, 4), STATIC)
    held = admit(node, ledger, pod("gone", cpus("app", "3"))).ledger
    begin = down(situation_of(node, held, None), pod("new", cpus("app", "2")), gone="gone")
    after = restart(begin, Beginning())
    assert held_by(after) == {"new": "UnexpectedAdmissionError"}
    later = admit(node, after.situation.ledger, pod("later", cpus("app", "2")))
    assert later.admitted


def test_the_containers_of_new_pods_start_and_those_that_run_do_not() -> None:
    """Init containers of the old pod get their memory again, those of the new one give it back (1.22 to 1.36)."""
    ordered = settings(memory="Static", reserved_memory={0: {"memory": "1Gi"}})
    node, ledger = running(box(1, 4, memory=21 * GI), ordered)

    def wanted(uid: str) -> Pod:
        return pod(uid, memory("app", "1Gi"), init=[memory("setup", "4Gi")])

    held = start_containers(node, admit(node, ledger, wanted("old")).ledger, "old")[0]
    after = restart(down(situation_of(node, held, None), wanted("new")), Beginning())
    entries = after.situation.ledger.memory.entries
    assert {uid: set(own) for uid, own in entries.items()} == {"old": {"setup", "app"}, "new": {"app"}}


def test_the_node_as_a_whole_is_checked_again_in_the_order_of_creation() -> None:
    """The load is that of the pods admitted before it in the same batch."""
    on = stage()
    first, second = pod("first", container("app", {"cpu": "10"})), pod("second", container("app", {"cpu": "10"}))
    begin = replace(on.situation, ledger=replace(on.ledger, active={"first": first, "second": second}))
    after = restart(begin, Beginning())
    assert held_by(after) == {"first": "admitted", "second": "OutOfcpu"}
    assert after.situation.load.amounts["cpu"] == 10_000


# --- reboot ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("how", "expected"),
    [
        (Beginning("first", reboot=True), "admitted"),
        (Beginning("late", reboot=True), "UnexpectedAdmissionError"),
        (Beginning("never", reboot=True), "UnexpectedAdmissionError"),
        (Beginning("late"), "admitted"),
        (Beginning("never"), "admitted"),
    ],
)
def test_after_a_reboot_devices_are_checked_anew(how: Beginning, expected: str) -> None:
    """No container runs, so a plugin that has not registered yet costs the pod its place (1.36)."""
    node, ledger = running(SEED_BOX, settings())
    held = admit(node, ledger, pod("p", container("app", {GPU: "1"}))).ledger
    assert held_by(restart(situation_of(node, held, None), how)) == {"p": expected}


@pytest.mark.parametrize(
    ("how", "expected"),
    [(Beginning(), "admitted"), (Beginning("late"), "UnexpectedAdmissionError")],
)
def test_devices_of_finished_init_containers_are_checked_anew_at_every_start(how: Beginning, expected: str) -> None:
    """They have ended and do not run on, so their plugin must be back; sidecars run on (1.36)."""
    node, ledger = running(SEED_BOX, settings())
    setup = container("setup", {GPU: "1"})
    for uid, init in (("ended", setup), ("sidecar", replace(setup, restartable=True))):
        ledger = start_containers(node, admit(node, ledger, pod(uid, container("app", {}), init=[init])).ledger, uid)[0]
    assert held_by(restart(situation_of(node, ledger, None), how)) == {"ended": expected, "sidecar": "admitted"}


def test_after_a_reboot_init_containers_run_again() -> None:
    """Their memory goes back to the app containers once more."""
    ordered = settings(memory="Static", reserved_memory={0: {"memory": "1Gi"}})
    node, ledger = running(box(1, 4, memory=11 * GI), ordered)
    wanted = pod("p", memory("app", "1Gi"), init=[memory("setup", "4Gi")])
    before = start_containers(node, admit(node, ledger, wanted).ledger, "p")[0]
    after = restart(situation_of(node, before, None), Beginning(reboot=True)).situation.ledger
    assert after.memory.nodes[0].tables["memory"].reserved == GI


# --- static pods -----------------------------------------------------------------------------------------------------


class Reversed(Choices):
    def pods(self, pods: Sequence[Pod]) -> Sequence[Pod]:
        return list(reversed(pods))


def test_a_critical_pod_evicts_at_a_restart_only_those_who_came_before_it() -> None:
    """The kubelet adds pods one by one: whoever is still to come is not yet active (1.20 to 1.37)."""
    node, ledger = running(box(1, 8), STATIC)
    first, later = (pod(uid, container("app", {}, requests={"cpu": "2"})) for uid in ("first", "later"))
    critical = replace(pod("vip", container("app", {}, requests={"cpu": "3"})), priority=CRITICAL)
    ledger = replace(ledger, active={each.uid: each for each in (first, critical, later)})
    after = restart(situation_of(node, ledger, {"cpu": Quantity(4), "pods": Quantity(110)}), Beginning())
    verdicts = [(each.pod.uid, each.reason, [own.pod.uid for own in each.evicted]) for each in after.readmitted]
    assert verdicts == [("first", "", []), ("vip", "", ["first"]), ("later", "OutOfcpu", [])]
    assert list(after.situation.ledger.active) == ["vip"]


def test_static_pods_come_in_any_order_and_one_that_ran_may_lose_its_place() -> None:
    """A rejected one is tried again, since its manifest is still there."""
    node, ledger = running(box(1, 5), STATIC)
    ran, refused = (replace(pod(uid, cpus("app", "3")), static=True) for uid in ("ran", "refused"))
    held = admit(node, ledger, ran).ledger
    begin = replace(situation_of(node, held, None), refused=(refused,))
    assert held_by(restart(begin, Beginning())) == {"ran": "admitted", "refused": "UnexpectedAdmissionError"}
    order = WatchedChoices()
    after = restart(begin, Beginning(), lambda: order)
    assert [draw.kind for draw in order.draws] == ["pods"]
    assert after.situation.refused == (refused,)
    other = restart(begin, Beginning(), Reversed)
    assert [decision.pod.uid for decision in other.readmitted] == ["refused", "ran"]


# --- another configuration -------------------------------------------------------------------------------------------


def test_another_configuration_makes_another_node() -> None:
    """maxPods, scope and policy change without trouble (1.36)."""
    on = stage(cpu_manager_policy="none", memory_manager_policy="None", reserved_memory=())
    text = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\nmaxPods: 1\n"
    two = {uid: pod(uid, container("app", {"cpu": "1"})) for uid in ("one", "two")}
    begin = replace(on.situation, ledger=replace(on.ledger, active=two))
    after = restart(begin, Beginning(config=ConfigSources(ConfigFile("other.yaml", text))))
    assert held_by(after) == {"one": "admitted", "two": "OutOfpods"}
    assert after.situation.node.settings.topology_policy == "none"


def test_a_configuration_that_the_kubelet_refuses_is_a_start_error() -> None:
    on = stage()
    text = "kind: KubeletConfiguration\napiVersion: kubelet.config.k8s.io/v1beta1\ncpuManagerPolicy: none\n"
    begin = replace(on.situation, ledger=admit(on.node, on.ledger, pod("p", cpus("app", "2"))).ledger)
    with pytest.raises(StartError):
        restart(begin, Beginning(config=ConfigSources(ConfigFile("other.yaml", text))))
