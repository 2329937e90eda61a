"""The CPU manager: who gets exclusive CPUs, and which ones.

Read in this order:

- `manager`: `CpuManager`, its hints, allocations and releases.
- `assignment`: `take`, the one door to the algorithms that choose CPUs out of a free set, for all releases.
- `pick/`: the usual algorithms. `distribute/`: distribute-cpus-across-numa.
- `start`: its policy, the reserved CPUs and the state file when the kubelet starts.

`start` and `manager` call `assignment`; `assignment` calls `pick` and, when they are needed, the old algorithm and
`distribute`; `distribute` calls `pick`.

A set of CPUs is an integer here, one bit for each CPU.
"""
