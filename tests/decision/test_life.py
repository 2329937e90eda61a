"""What happens on a node besides admissions."""

import pytest
from msgspec.structs import replace

from numafit.bits import cpuset_text
from numafit.decision.admit import admit
from numafit.decision.life import freed, list_devices, reconcile, release, start_containers
from numafit.managers.device.plugin import Plugin, PluginError
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


class _Refusing(Plugin, frozen=True):
    def pre_start(self, ids: frozenset[str]) -> None:
        raise PluginError(f"{sorted(ids)} are not ready")


def test_a_container_whose_devices_the_plugin_cannot_prepare_does_not_start() -> None:
    """PreStartContainer comes before the start; those behind an init container wait with it (all releases)."""
    node, ledger = running(SEED_BOX, settings(), {GPU: _Refusing()})
    wanted = pod("p", container("app", {GPU: "1"}), cpus("other", "1"))
    admitted = admit(node, ledger, wanted).ledger
    assert start_containers(node, admitted, "p") == (admitted, ("app",))


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


def test_a_pod_that_is_freed_leaves_the_node_as_it_was() -> None:
    """CPUs, memory and devices at once: by itself each manager waits for another moment (all releases)."""
    ordered = settings(
        cpu="static", memory="Static", reserved_memory={0: {"memory": "1Gi"}}, topology="single-numa-node"
    )
    node, idle = running(box(2, 8, memory=8 * GI, devices=gpus(0, 1)), ordered)
    limits = {"cpu": "2", "memory": "2Gi", GPU: "1"}
    taken = admit(node, idle, pod("p", container("app", limits))).ledger
    assert (len(taken.cpu.entries), len(taken.memory.entries), len(taken.device.held)) == (1, 1, 1)
    after = freed(node, taken, "p")
    assert after.cpu.default == idle.cpu.default
    assert after.memory.nodes == idle.memory.nodes
    assert (after.active, after.device.held, after.device.allocated) == ({}, {}, {})
