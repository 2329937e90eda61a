"""Who holds what: a value, and the kubelet's state files that say the same.

- `ledger`: `Ledger` with one part for each manager, the pods that count as alive and the stored hints. A change gives
  a new ledger. `stale_containers` finds the entries that belong to nobody any more.
- `block`: a block of memory, which leases hold, too.
- `state_files`: the names of the three state files, and where they lie.
- `files/`: the three state files, read and written byte for byte. A node that starts empty does not load them.

`files` may use the others, never the other way round. The start of the node and of its managers turns a file into a
part of the ledger; `decision` writes the files that belong to a ledger.

The hard idea: a part also keeps what the kubelet has in memory only, such as what init containers leave for reuse,
and `file`, the text on disk for as long as nothing was written since it was loaded.
"""
