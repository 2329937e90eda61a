"""The memory manager: bytes and huge pages per NUMA node.

Read in this order:

- `nodes`: charging bytes to a mask of nodes and giving them back.
- `hints`: which masks can give a container its memory, and which of them is best.
- `pod_level`: the budget of a pod that is managed as a whole, and how its containers divide it.
- `manager`: `MemoryManager`, its hints, allocations and releases.
- `start`: its policy, the reserved memory and the state file when the kubelet starts.

`start` calls `manager`, `manager` calls the others, and `nodes` is called by all.

The hard idea is the group: a node is used either by containers that sit on it alone or by containers that all have
exactly the same mask of several nodes. Amounts are unsigned 64-bit numbers that wrap, as in the kubelet.
"""
