"""The metrics of the agent: each name with its type, labels and meaning.

The kubelet's own names are used where the meaning is the same; all others begin with `numafit_`.
"""

from numafit.show.records.agent import Metric

_KUBELET = (
    Metric(
        "kubelet_topology_manager_admission_requests_total",
        "counter",
        (),
        "Pods that the topology manager decided on.",
    ),
    Metric(
        "kubelet_topology_manager_admission_errors_total",
        "counter",
        (),
        "Pods rejected by the merge of hints or by an allocation behind it.",
    ),
    Metric("kubelet_admission_rejections_total", "counter", ("reason",), "Rejected pods by the kubelet's reason."),
    Metric(
        "kubelet_cpu_manager_pinning_requests_total", "counter", (), "Containers that exclusive CPUs were tried for."
    ),
    Metric("kubelet_cpu_manager_pinning_errors_total", "counter", (), "Those of them that got none."),
    Metric("kubelet_memory_manager_pinning_requests_total", "counter", (), "Containers that memory was tried for."),
    Metric("kubelet_memory_manager_pinning_errors_total", "counter", (), "Those of them that got none."),
    Metric(
        "kubelet_container_aligned_compute_resources_count",
        "untyped",
        ("scope", "boundary"),
        "Containers or pods that single-numa-node aligned; counts up.",
    ),
    Metric(
        "kubelet_container_aligned_compute_resources_failure_count",
        "untyped",
        ("scope", "boundary"),
        "Containers or pods that single-numa-node could not align; counts up.",
    ),
    Metric(
        "kubelet_cpu_manager_shared_pool_size_millicores",
        "gauge",
        (),
        "CPUs of the shared pool without the reserved ones, in thousandths.",
    ),
    Metric("kubelet_cpu_manager_exclusive_cpu_allocation_count", "gauge", (), "CPUs that are held exclusively."),
    Metric(
        "kubelet_cpu_manager_allocation_per_numa", "gauge", ("numa_node",), "CPUs held exclusively on each NUMA node."
    ),
)

_OWN = (
    Metric("numafit_info", "gauge", ("version", "source", "machine", "kubelet"), "Always 1; the labels tell of whom."),
    Metric("numafit_source_ready", "gauge", (), "1 while the node that is shown can be read."),
    Metric("numafit_numa_cpus", "gauge", ("numa_node", "state"), "CPUs of a NUMA node: held, free or reserved."),
    Metric(
        "numafit_numa_memory_bytes",
        "gauge",
        ("numa_node", "state"),
        "Memory of a NUMA node: held, free or reserved; that of a GPU is held with it.",
    ),
    Metric("numafit_numa_devices", "gauge", ("numa_node", "resource", "state"), "Devices of a NUMA node: held, free."),
    Metric(
        "numafit_numa_stranded_cpus",
        "gauge",
        ("numa_node",),
        "Free CPUs of a NUMA node whose devices are all held, so that nobody can get both there.",
    ),
    Metric(
        "numafit_numa_stranded_memory_bytes",
        "gauge",
        ("numa_node",),
        "Free memory of a NUMA node that has CPUs and none of them free.",
    ),
    Metric(
        "numafit_numa_stranded_devices",
        "gauge",
        ("numa_node", "resource"),
        "Free devices of a NUMA node that has CPUs and none of them free.",
    ),
    Metric("numafit_holders", "gauge", ("kind",), "Who is there: pods, leases, and those in the shared pool."),
    Metric(
        "numafit_holder_alignment",
        "gauge",
        ("verdict",),
        "Holders by how they lie: aligned, split, remote GPU, remote NIC, remote device, shared.",
    ),
    Metric("numafit_leases", "gauge", ("rung",), "Leases by how they are bound."),
    Metric("numafit_audit_findings", "gauge", ("code",), "What the last audit of this machine found."),
    Metric(
        "numafit_lease_memory_bytes",
        "gauge",
        ("lease", "name", "numa_node"),
        "Memory of the processes of a lease on a NUMA node; pages that they share count for each.",
    ),
    Metric("numafit_lease_cpu_seconds_total", "counter", ("lease", "name"), "CPU time that a lease has used."),
    Metric(
        "numafit_lease_cpu_waiting_seconds_total",
        "counter",
        ("lease", "name"),
        "Time in which threads of a lease wanted to run and had no CPU.",
    ),
    Metric(
        "numafit_lease_context_switches_total",
        "counter",
        ("lease", "name", "kind"),
        "Context switches of a lease: voluntary, or involuntary.",
    ),
    Metric(
        "numafit_numa_allocations_total",
        "counter",
        ("numa_node", "kind"),
        "Allocations as the kernel counts them: hit, miss, foreign, interleaved, local or remote.",
    ),
    Metric("numafit_decisions_total", "counter", ("kind", "verdict"), "Entries of the story since the agent started."),
    Metric("numafit_requests_total", "counter", ("status",), "Answers by the first digit of their status."),
    Metric("numafit_event_streams", "gauge", (), "Open event streams."),
    Metric("numafit_event_streams_dropped_total", "counter", (), "Event streams ended because they did not keep up."),
)

METRICS = (*_KUBELET, *_OWN)
