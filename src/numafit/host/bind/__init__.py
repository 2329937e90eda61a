"""Binding a process to CPUs and memory nodes, and reading back what the kernel made of it.

`target` has the values: what is wanted (`Target`), what came of it (`Bound`), and the names of the rungs. `ladder`
tries the rungs from the strongest down: a cgroup of version 2 (`cgroup`) or 1 (`cgroup_v1`), a scope of `systemd`,
affinity with a memory policy, affinity alone (`kernel`). It also moves a job that runs, and removes the cgroups of
leases that are gone. `slices` knows which slices of systemd the jobs of root may leave. Only `ladder` is called
from outside for that; `target` and `kernel` are used by others to ask and to tell. `marking` puts the id of a
lease on a process, where every user can read it, and `mark` reads it. `marking` and `mempolicy`, the system calls for
memory, load nothing else: `host.wake` starts jobs with them.

Nothing here knows what a lease is: it gets an id, which becomes the name of a cgroup or unit, and two sets.

The hard part is honesty: no call is believed. After each rung the kernel is asked what the process may use now,
and a rung that gave something else is taken back and told as refused.
"""
