"""The topology manager: hints, the order among them, their merge, and the policies.

Read in this order:

- `policy`: the names of policies and scopes; the topology manager with the checks of its start.
- `demand`: how much is needed of NUMA nodes together. `hint`: a hint, a list of hints in the kubelet's order, and
  `HintFamily`, a list that is described by its rule because it would be too long.
- `hint_order`: which of two merged hints is better.
- `merge`: one mask out of all hints, and whether the policy admits it.
- `intersections`: all ANDs of one mask per list. `permutations`: the kubelet's own walk, for machines whose distance
  rows are too short. `many_nodes/`: the merge of families, for machines with many NUMA nodes.

`merge` stands on all others, `hint` on `demand`, `policy` on `hint_order`. Managers use `hint` and `demand`; only the
memory manager also calls `merge`, to find the best of its own hints.

The hard idea: the kubelet tries every permutation of hints. Each of its comparisons picks the smaller key of one
total order, so the best can be found without the permutations.
"""
