"""Node Allocatable: what a configuration reserves of a machine, what is left for pods, what the managers are told."""

from collections.abc import Mapping

from numafit.bits import CpusetError, cpuset_text, mask_of, parse_cpuset
from numafit.errors import KubeletError, StartError
from numafit.golang.text import in_byte_order, map_text, parse_int, quantity_fields, quoted
from numafit.machine.model import Machine
from numafit.quantity import Quantity, parse_quantity
from numafit.settings.config import KubeletConfig
from numafit.settings.eviction import memory_reservation, thresholds
from numafit.settings.settings import Settings
from numafit.settings.versions import Behaviour, KubeVersion, behaviour_of

RUN_STAGE = "kubelet.run"
CAPACITY_STAGE = "containermanager.Start"

_RESERVABLE = ("cpu", "memory", "ephemeral-storage", "pid")


def capacity_of(machine: Machine) -> dict[str, Quantity]:
    """cpu, memory and huge pages of the whole machine. Memory is `MemTotal`; without it, the sum over nodes."""
    memory = sum(node.memory for node in machine.numa_nodes) if machine.memory is None else machine.memory
    capacity = {
        "cpu": Quantity(len(_online(machine)) * 1000, -3),
        "memory": Quantity(memory, 0, "BinarySI"),
    }
    pages: dict[int, int] = {}
    for node in machine.numa_nodes:
        for size, count in node.hugepages.items():
            pages[size] = pages.get(size, 0) + size * count
    for size in sorted(pages):
        capacity[f"hugepages-{Quantity(size, 0, 'BinarySI')}"] = Quantity(pages[size], 0, "BinarySI")
    return capacity


def settings_of(config: KubeletConfig, machine: Machine, version: KubeVersion, gates: Mapping[str, bool]) -> Settings:
    """The settings that the managers of this kubelet get, or the StartError before there are managers.

    `gates` are all of the release, with their effective values. The static validation comes before this. Whether the
    reservation fits the machine is looked at after the managers have started (`check_capacity`).
    """
    behaviour = behaviour_of(version)
    try:
        reservation = reservation_of(config, machine, version)
        _qos_reserved(config.qos_reserved, behaviour)
        _check_option_gates(config, gates, behaviour)
    except KubeletError as error:
        raise StartError(RUN_STAGE, str(error), cause=error) from None
    cpu_manager = gates.get("CPUManager", True)
    memory_manager = gates.get("MemoryManager", True)
    topology_manager = gates.get("TopologyManager", True)
    return Settings(
        version=version,
        cpu_policy=config.cpu_manager_policy if cpu_manager else "none",
        cpu_options=config.cpu_manager_policy_options or {} if cpu_manager else {},
        memory_policy=config.memory_manager_policy if memory_manager else "None",
        reserved_memory=config.reserved_memory,
        topology_policy=config.topology_manager_policy,
        topology_scope=config.topology_manager_scope,
        topology_options=config.topology_manager_policy_options or {} if topology_manager else {},
        gates=gates,
        reserved_cpus=config.reserved_system_cpus,
        reservation=reservation,
        state_dir=config.root_dir,
    )


def reservation_of(config: KubeletConfig, machine: Machine, version: KubeVersion) -> dict[str, Quantity]:
    """systemReserved + kubeReserved + hard eviction threshold, for cpu and memory; zero sums are left out."""
    behaviour = behaviour_of(version)
    reserved_cpus = _reserved_cpus(config.reserved_system_cpus, machine, behaviour)
    kube, system = dict(config.kube_reserved), dict(config.system_reserved)
    if reserved_cpus:
        kube.pop("cpu", None)
        system["cpu"] = str(reserved_cpus.bit_count())
    kube_reserved = _reserved("kube", kube, behaviour)
    system_reserved = _reserved("system", system, behaviour)
    capacity = capacity_of(machine)
    eviction: dict[str, Quantity] = {}
    if not config.ignore_eviction:
        memory = memory_reservation(thresholds(config.eviction_hard, behaviour), capacity["memory"].value())
        if memory is not None:
            eviction["memory"] = memory
    reservation: dict[str, Quantity] = {}
    for name in capacity:
        total = Quantity(0)
        for part in (system_reserved, kube_reserved, eviction):
            if name in part:
                total += part[name]
        if not total.is_zero:
            reservation[name] = total
    return reservation


def check_capacity(reservation: Mapping[str, Quantity], machine: Machine, version: KubeVersion) -> None:
    """The kubelet's look at the reservation after its managers have started. Quantities print as Go structs there."""
    capacity = capacity_of(machine)
    errors = []
    exceeded = []
    for name in in_byte_order(reservation):
        rest = capacity[name] - reservation[name]
        if rest.sign >= 0:
            continue
        exceeded.append(name)
        reserved = quantity_fields(reservation[name])
        if behaviour_of(version).reservation_names_capacity:
            errors.append(
                f"Resource {quoted(name)} has a reservation of {reserved} "
                f"but capacity of {quantity_fields(capacity[name])}. Expected capacity >= reservation."
            )
        else:
            errors.append(
                f"Resource {quoted(name)} has an allocatable of {reserved}, capacity of {quantity_fields(rest)}"
            )
    if errors:
        text = f"invalid Node Allocatable configuration. {' '.join(errors)}"
        first = exceeded[0]
        facts = {"resource": first, "reserved": str(reservation[first]), "capacity": str(capacity[first])}
        raise StartError(CAPACITY_STAGE, text, code="capacity", field=("kubeReserved",), facts=facts)


def allocatable_of(config: KubeletConfig, machine: Machine, version: KubeVersion) -> dict[str, Quantity]:
    """What the node's status offers to the scheduler: capacity less reservation, and memory less all huge pages."""
    capacity = capacity_of(machine)
    reservation = reservation_of(config, machine, version)
    left = {
        name: _floor(total - reservation[name]) if name in reservation else total for name, total in capacity.items()
    }
    for name, total in capacity.items():
        if name.startswith("hugepages-"):
            left["memory"] = _floor(left["memory"] - total)
    pods = config.max_pods
    if config.pods_per_core > 0:
        pods = min(len(_online(machine)) * config.pods_per_core, pods)
    left["pods"] = Quantity(pods)
    for device in machine.devices:
        if not device.resource:
            continue
        left[device.resource] = left.get(device.resource, Quantity(0)) + Quantity(int(device.healthy))
    return left


def _online(machine: Machine) -> list[int]:
    return [cpu.id for cpu in machine.cpus if cpu.online]


def _reserved_cpus(text: str, machine: Machine, behaviour: Behaviour) -> int:
    if not text:
        return 0
    field = ("reservedSystemCPUs",)
    try:
        cpus = parse_cpuset(text, reversed_sign=behaviour.reversed_range_sign)
    except CpusetError as error:
        prefix = "unable to parse reserved-cpus list: " if behaviour.reserved_cpus_subset else ""
        raise KubeletError(f"{prefix}{error}", code="cpus-list", field=field) from None
    online = mask_of(_online(machine))
    if behaviour.reserved_cpus_subset:
        if cpus & ~online:
            problem = f"reserved-cpus: {text} is not a subset of online-cpus: {cpuset_text(online)}"
            raise KubeletError(problem, code="cpus-offline", field=field)
    elif not cpus:
        # 1.20 and 1.21 take `5-3` for an empty list, ask for its first CPU and crash
        raise KubeletError("runtime error: index out of range [0] with length 0", code="cpus-empty-range", field=field)
    elif cpus.bit_length() > online.bit_count():
        problem = f"Invalid cpuset {quoted(text)} specified by --reserved-cpus"
        raise KubeletError(problem, code="cpus-offline", field=field)
    return cpus


def _reserved(owner: str, amounts: Mapping[str, str], behaviour: Behaviour) -> dict[str, Quantity]:
    """kubeReserved or systemReserved. The kubelet walks them in random order, here they come in byte order."""
    found: dict[str, Quantity] = {}
    for name in in_byte_order(amounts):
        try:
            found[name] = _reserved_amount(name, amounts[name], behaviour)
        except KubeletError as error:
            prefix = f"--{owner}-reserved value failed to parse: " if behaviour.reserved_flag_named else ""
            raise KubeletError(f"{prefix}{error}", field=(f"{owner}Reserved", name), cause=error) from None
    return found


def _reserved_amount(name: str, text: str, behaviour: Behaviour) -> Quantity:
    if name not in _RESERVABLE:
        raise KubeletError(f"cannot reserve {quoted(name)} resource", code="reserved-name")
    try:
        quantity = parse_quantity(text)
    except KubeletError as error:
        named = behaviour.reserved_flag_named
        prefix = f"failed to parse quantity {quoted(text)} for {quoted(name)} resource: " if named else ""
        raise KubeletError(f"{prefix}{error}", code="reserved-amount") from None
    if quantity.sign < 0:
        problem = f"resource quantity for {quoted(name)} cannot be negative: {text}"
        raise KubeletError(problem, code="reserved-amount")
    return quantity


def _qos_reserved(shares: Mapping[str, str], behaviour: Behaviour) -> None:
    """qosReserved decides nothing here, but a bad one keeps the kubelet from starting."""
    try:
        for name in in_byte_order(shares):
            if name != "memory":
                raise KubeletError(f"cannot reserve {quoted(name)} resource")
            try:
                _check_percentage(shares[name])
            except KubeletError as error:
                if not behaviour.reserved_flag_named:
                    raise
                raise KubeletError(
                    f"failed to parse percentage {quoted(shares[name])} for {quoted(name)} resource: {error}"
                ) from None
    except KubeletError as error:
        prefix = "--qos-reserved value failed to parse: " if behaviour.reserved_flag_named else ""
        raise KubeletError(f"{prefix}{error}", code="qos-reserved", field=("qosReserved", name)) from None


def _check_percentage(text: str) -> None:
    if not text.endswith("%"):
        raise KubeletError(f"percentage expected, got '{text}'")
    try:
        number = parse_int(text.rstrip("%"))
    except KubeletError:
        raise KubeletError(f"invalid number in percentage '{text}'") from None
    if not 0 <= number <= 100:
        raise KubeletError("percentage must be between 0 and 100")


def _check_option_gates(config: KubeletConfig, gates: Mapping[str, bool], behaviour: Behaviour) -> None:
    options = config.cpu_manager_policy_options
    if options is not None and gates.get("CPUManager", True) and not gates.get("CPUManagerPolicyOptions", True):
        raise KubeletError(
            f"CPU Manager policy options {map_text(options)} require feature gates "
            '"CPUManager", "CPUManagerPolicyOptions" enabled',
            code="cpu-options-gate",
            field=("cpuManagerPolicyOptions",),
        )
    options = config.topology_manager_policy_options
    if (
        options is not None
        and gates.get("TopologyManager", True)
        and not gates.get("TopologyManagerPolicyOptions", True)
    ):
        names = '"TopologyManagerPolicyOptions"'
        if behaviour.two_topology_gates:
            names = f'"TopologyManager", {names}'
        text = f"topology manager policy options {map_text(options)} require feature gates {names} enabled"
        raise KubeletError(text, code="topology-options-gate", field=("topologyManagerPolicyOptions",))


def _floor(quantity: Quantity) -> Quantity:
    return quantity if quantity.sign >= 0 else Quantity(0, 0, quantity.format)
