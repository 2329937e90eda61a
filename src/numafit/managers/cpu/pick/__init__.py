"""Which CPUs are taken out of a free set.

- `packed`: best fit, since 1.22: whole NUMA nodes and sockets, then caches, cores and single CPUs; with the order in
  which each of them is looked at.
- `unordered`: the algorithm of 1.20 and 1.21, which sorts by relations that are no order, so that several outcomes
  are possible.
- `errors`: why no CPUs were taken, in the kubelet's words.

The algorithms are called by `cpu.assignment` and `cpu.distribute` only; the errors are met wherever CPUs are taken.
The free CPUs are compared with the average size of a core or socket, as in the kubelet, so that on uneven machines
more may be taken than were free.
"""
