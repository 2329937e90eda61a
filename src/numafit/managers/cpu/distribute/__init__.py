"""distribute-cpus-across-numa: equally many CPUs from each of as few NUMA nodes as possible.

Read in this order:

- `shares`: the door: chooses the nodes and takes the CPUs.
- `node_choice`: which nodes share, found by search.
- `remainder`: which of them give what equal shares leave over.
- `bounds`: which choices need not be looked at, since they cannot be the most even ones.
- `kubelet_walk`: the same choice as the kubelet walks it, one combination after the other. It serves the few machines
  where a node stands in the order twice, and is the yardstick of `node_choice` in the tests.

`shares` calls `node_choice` or `kubelet_walk`; `node_choice` calls `remainder` and `bounds`, `remainder` calls
`bounds`.

The hard idea: the kubelet's best combination changes after it was found, because a Go slice shares its array with
later ones. What stands there in the end is what it takes; `remainder.as_overwritten` knows it.
"""
