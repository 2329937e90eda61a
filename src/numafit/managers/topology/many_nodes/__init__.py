"""The merge for lists that are too long to write: a machine of 34 NUMA nodes has 2^34 masks.

- `family_merge`: the two stages of `topology.merge` for families of hints, by search.
- `best_mask`: the best mask of a given size that passes a test, found without trying all.
- `membership`: the test whether a mask is in the rule of each family.
- `exact_intersection`: the test whether hints of several families can have exactly a given mask in common.

`family_merge` calls the others. `topology.merge` loads this folder only when a list is a family, so a command on a
usual machine does not pay for it.

The hard idea: a rule is closed under supersets inside its ground set. So to ask for exactly one mask in common is to
ask which family drops each node outside it, while each of them keeps enough.
"""
