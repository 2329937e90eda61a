"""The CPU manager: who gets exclusive CPUs, and the hints for them."""

import msgspec
from msgspec.structs import replace

from numafit.bits import mask_of
from numafit.ledger.ledger import CpuLedger, Ledger, stale_containers
from numafit.machine.topology import CpuTopology
from numafit.managers.ask import Ask
from numafit.managers.cpu.assignment import take_outcomes
from numafit.managers.cpu.pick.errors import PickError
from numafit.managers.protocol import EMPTY_SHARED_POOL, SMT_ALIGNMENT, Call, Refusal
from numafit.managers.refused import BudgetUsedUp, CpusNotPicked, CpusShort, OddCpus, WholeCoresShort
from numafit.managers.topology.demand import Demand
from numafit.managers.topology.hint import HintFamily, HintList, ProviderHints, hints_of, smallest_size
from numafit.settings.options import CpuOptions
from numafit.settings.versions import Behaviour
from numafit.workload.pod import Container

CPU = "cpu"


class CpuManager(msgspec.Struct, frozen=True):
    """The static policy; with `static` False the policy none, which has no hints and allocates nothing."""

    static: bool
    topology: CpuTopology
    behaviour: Behaviour
    options: CpuOptions = CpuOptions()
    reserved: int = 0
    reserved_cores: int = 0
    """All threads of every core that has a reserved CPU."""
    pod_entries: bool = False
    """Gate PodLevelResourceManagers: pods may hold CPUs as a whole, and the state file says so."""

    # --- pools -------------------------------------------------------------------------------------------------------

    def available(self, ledger: CpuLedger) -> int:
        return ledger.default & ~self.reserved

    def allocatable(self, ledger: CpuLedger) -> int:
        """As the pod-resources API reports it."""
        if not self.static:
            return 0
        pool = ledger.default if self.behaviour.allocatable_is_default else self.topology.cpus
        return pool & ~self.reserved

    # --- hints -------------------------------------------------------------------------------------------------------

    def hints(self, call: Call, container: Container) -> ProviderHints:
        self._remember(call)
        self.remove_stale(call)
        wanted = call.ask.cpus[container.name]
        if not self.static or wanted == 0 or call.ask.pod_level == "skipped":
            return None
        ledger = call.ledger.cpu
        held = ledger.entries.get(call.ask.pod.uid, {}).get(container.name)
        if held is not None:
            return {CPU: self._generate(held, 0, wanted) if held.bit_count() == wanted else ()}
        return {CPU: self._generate(self.available(ledger), self._reusable(call), wanted)}

    def pod_hints(self, call: Call) -> ProviderHints:
        self._remember(call)
        self.remove_stale(call)
        ask = call.ask
        wanted = ask.pod_cpus
        if not self.static or wanted == 0 or ask.pod_level == "skipped":
            return None
        if ask.pod_level == "managed" and self.pod_refusal(call.ask) is not None:
            return {CPU: ()}
        held = 0
        entries = call.ledger.cpu.entries.get(ask.pod.uid, {})
        for container in ask.pod.all_containers:
            own = entries.get(container.name)
            if own is None:
                continue
            if own.bit_count() != ask.cpus[container.name]:
                return {CPU: ()}
            held |= own
        if held.bit_count() == wanted:
            return {CPU: self._generate(held, 0, wanted)}
        return {CPU: self._generate(self.available(call.ledger.cpu), self._reusable(call) | held, wanted)}

    def _generate(self, available: int, reusable: int, wanted: int) -> HintList:
        topology = self.topology
        nodes = topology.numa_nodes
        ground = mask_of(nodes)
        totals = Demand(wanted, {node: cpus.bit_count() for node, cpus in nodes.items()})
        size = smallest_size(ground, (totals,), len(nodes))
        sockets_wanted = None
        if self.options.align_by_socket:
            per_socket = topology.num_numa_nodes // topology.num_sockets if topology.num_sockets else 0
            sockets_wanted = -(-size // per_socket) if per_socket else None
        free = {node: (cpus & available).bit_count() for node, cpus in nodes.items()}
        return hints_of(
            HintFamily(
                ground=ground,
                demands=(Demand(wanted - reusable.bit_count(), free),),
                touch=tuple(1 << node for node, cpus in nodes.items() if cpus & reusable) if reusable else (),
                size=size,
                sockets=self._socket_nodes() if sockets_wanted is not None else (),
                sockets_wanted=sockets_wanted,
            )
        )

    def _socket_nodes(self) -> tuple[int, ...]:
        """The NUMA nodes of each socket."""
        nodes = self.topology.numa_nodes.items()
        return tuple(mask_of(node for node, cpus in nodes if cpus & own) for own in self.topology.sockets.values())

    # --- allocation --------------------------------------------------------------------------------------------------

    def allocate(self, call: Call, container: Container) -> Refusal | None:
        self._remember(call)
        self.remove_stale(call)
        wanted = call.ask.cpus[container.name]
        if not self.static or wanted == 0 or call.ask.pod_level == "skipped":
            return None
        held = call.ledger.cpu.entries.get(call.ask.pod.uid, {}).get(container.name)
        if held is None or not self.behaviour.smt_check_after_present:
            refusal = self._smt_refusal(call.ledger.cpu, wanted)
            if refusal is not None:
                return refusal
        if held is not None:
            self._reuse(call, container, held)
            return None
        uid = call.ask.pod.uid
        affinity, _ = call.ledger.affinity_of(uid, container.name)
        try:
            taken = self._take_aligned(call, container.name, wanted, affinity, self._reusable(call))
        except PickError as error:
            return self._not_taken(error, wanted, self.available(call.ledger.cpu) | self._reusable(call))
        self._store(call, {container.name: taken}, taken)
        self._reuse(call, container, taken)
        return None

    def allocate_pod(self, call: Call) -> Refusal | None:
        """A pod with pod-level resources takes its CPUs as a whole, then divides them among its containers."""
        self._remember(call)
        self.remove_stale(call)
        ask = call.ask
        if not self.static or ask.pod_cpus == 0:
            return None
        refusal = self.pod_refusal(call.ask)
        if refusal is not None:
            return refusal
        refusal = self._smt_refusal(call.ledger.cpu, ask.pod_cpus)
        if refusal is not None:
            return refusal
        uid = ask.pod.uid
        affinity, _ = call.ledger.affinity_of(uid, ask.pod.all_containers[0].name)
        pool = self.available(call.ledger.cpu)
        try:
            pod_cpus = self._take_aligned(call, "", ask.pod_cpus, affinity, 0)
            self._store_pod(call, pod_cpus)
            self._store(call, self._divide(call, pod_cpus), 0)
        except PickError as error:
            return self._not_taken(error, ask.pod_cpus, pool)
        return None

    def _not_taken(self, error: PickError, wanted: int, pool: int) -> Refusal:
        free = pool.bit_count()
        return Refusal(str(error), CpusShort(wanted, free) if free < wanted else CpusNotPicked(wanted, free))

    def _divide(self, call: Call, pod_cpus: int) -> dict[str, int]:
        ask = call.ask
        exclusive: dict[str, int] = {}
        sidecars = 0
        for container in ask.pod.init_containers:
            wanted = ask.cpus[container.name]
            pool = pod_cpus & ~sidecars
            if wanted > 0:
                exclusive[container.name] = self._take(call, container.name, pool, wanted)
                if container.restartable:
                    sidecars |= exclusive[container.name]
            elif not container.restartable:
                exclusive[container.name] = pool
        shared = pod_cpus & ~sidecars
        for container in ask.pod.containers:
            wanted = ask.cpus[container.name]
            if wanted > 0:
                exclusive[container.name] = self._take(call, container.name, shared, wanted)
                shared &= ~exclusive[container.name]
        return {container.name: exclusive.get(container.name, shared) for container in ask.pod.all_containers}

    def _take_aligned(self, call: Call, container: str, wanted: int, affinity: int | None, reusable: int) -> int:
        pool = self.available(call.ledger.cpu) | reusable
        taken = 0
        if affinity is not None:
            topology = self.topology
            by_socket = self.options.align_by_socket
            near = topology.cpus_of_sockets_at(affinity) if by_socket else topology.cpus_of_numa_nodes(affinity)
            aligned = pool & near
            count = min(wanted, aligned.bit_count())
            taken = self._take(call, container, aligned, count)
        return taken | self._take(call, container, pool & ~taken, wanted - taken.bit_count())

    def _take(self, call: Call, container: str, pool: int, count: int) -> int:
        outcomes = take_outcomes(self.topology, self.behaviour, self.options, pool, count)
        return call.choices.cpus(container, outcomes)

    def _smt_refusal(self, ledger: CpuLedger, wanted: int) -> Refusal | None:
        if not self.options.full_pcpus_only:
            return None
        per_core = self.topology.cpus_per_core
        misfit = wanted % per_core != 0
        if not misfit and self.behaviour.physical_cpu_check:
            physical = (ledger.default & ~self.reserved_cores).bit_count()
            if wanted <= physical:
                return None
            if physical > 0 or self.behaviour.no_physical_cpus_text:
                return Refusal(
                    "SMT Alignment Error: not enough free physical CPUs: "
                    f"available physical CPUs = {physical}, requested CPUs = {wanted}, CPUs per core = {per_core}",
                    WholeCoresShort(wanted, physical, per_core),
                    SMT_ALIGNMENT,
                )
        elif not misfit:
            return None
        return Refusal(
            f"SMT Alignment Error: requested {wanted} cpus not multiple cpus per core = {per_core}",
            # with no whole core left, these releases tell of the number, whatever it is
            OddCpus(wanted, per_core) if misfit else WholeCoresShort(wanted, 0, per_core),
            SMT_ALIGNMENT,
        )

    def pod_refusal(self, ask: Ask) -> Refusal | None:
        """Shared containers of a pod that is managed as a whole must be left something to share."""
        shared = False
        exclusive = 0
        for container in ask.pod.init_containers:
            wanted = ask.cpus[container.name]
            if not container.restartable:
                if wanted == 0 and exclusive >= ask.pod_cpus:
                    text = "pod rejected, pod has shared init containers but no cpus available for them"
                    return Refusal(text, BudgetUsedUp(CPU, ask.pod_cpus, exclusive), EMPTY_SHARED_POOL)
                continue
            shared = shared or wanted == 0
            exclusive += wanted
        for container in ask.pod.containers:
            wanted = ask.cpus[container.name]
            shared = shared or wanted == 0
            exclusive += wanted
        if shared and exclusive >= ask.pod_cpus:
            text = (
                "pod rejected, sum of exclusive container cpu requests equals pod budget, "
                "leaving no cpus for shared containers"
            )
            return Refusal(text, BudgetUsedUp(CPU, ask.pod_cpus, exclusive), EMPTY_SHARED_POOL)
        return None

    # --- the ledger --------------------------------------------------------------------------------------------------

    def _remember(self, call: Call) -> None:
        if self.behaviour.remembers_pending_pod:
            call.ledger = replace(call.ledger, cpu=replace(call.ledger.cpu, pending=call.ask.pod))

    def _reusable(self, call: Call) -> int:
        ledger = call.ledger.cpu
        return ledger.reuse if ledger.reuse_pod == call.ask.pod.uid else 0

    def _reuse(self, call: Call, container: Container, cpus: int) -> None:
        """Ordinary init containers leave their CPUs to the rest of the pod; all others keep what they got."""
        reuse = self._reusable(call)
        if container.name in call.ask.ordinary_init:
            reuse |= cpus
        else:
            reuse &= ~cpus
        call.ledger = replace(call.ledger, cpu=replace(call.ledger.cpu, reuse_pod=call.ask.pod.uid, reuse=reuse))

    def _store(self, call: Call, cpus: dict[str, int], taken: int) -> None:
        ledger = call.ledger.cpu
        uid = call.ask.pod.uid
        entries = {**ledger.entries, uid: {**ledger.entries.get(uid, {}), **cpus}}
        call.ledger = replace(
            call.ledger, cpu=replace(ledger, default=ledger.default & ~taken, entries=entries, file=None)
        )

    def _store_pod(self, call: Call, cpus: int) -> None:
        ledger = call.ledger.cpu
        call.ledger = replace(
            call.ledger,
            cpu=replace(
                ledger,
                default=ledger.default & ~cpus,
                pod_entries={**ledger.pod_entries, call.ask.pod.uid: cpus},
                file=None,
            ),
        )

    def remove_stale(self, call: Call) -> None:
        if CPU not in call.swept:
            call.swept.add(CPU)
            call.ledger = self.without_stale(call.ledger)

    def without_stale(self, ledger: Ledger) -> Ledger:
        """The order of removal does not show: every CPU of a stale container ends in the default pool."""
        stale = stale_containers(ledger, ledger.cpu.entries, ledger.cpu.pending)
        for uid, container in stale:
            ledger = replace(ledger, cpu=self.release(ledger.cpu, uid, container))
        return ledger

    def release(self, ledger: CpuLedger, uid: str, container: str) -> CpuLedger:
        own = ledger.entries[uid]
        if uid in ledger.baselines:
            kept = {name: cpus for name, cpus in ledger.baselines[uid].items() if name != container}
            others = {other: held for other, held in ledger.baselines.items() if other != uid}
            ledger = replace(ledger, baselines={**others, uid: kept} if kept else others)
        siblings = {name: cpus for name, cpus in own.items() if name != container}
        entries = {other: held for other, held in ledger.entries.items() if other != uid}
        if siblings:
            entries[uid] = siblings
        if self.pod_entries and uid in ledger.pod_entries:
            if siblings:
                return replace(ledger, entries=entries, file=None)
            pods = {other: cpus for other, cpus in ledger.pod_entries.items() if other != uid}
            released = ledger.pod_entries[uid]
            return replace(ledger, default=ledger.default | released, entries=entries, pod_entries=pods, file=None)
        released = own[container]
        if self.behaviour.release_keeps_siblings:
            for cpus in siblings.values():
                released &= ~cpus
        return replace(ledger, default=ledger.default | released, entries=entries, file=None)
