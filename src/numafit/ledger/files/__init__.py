"""The kubelet's state files, both ways: the same bytes, the same checksum, the same refusals.

- `checkpoint`: what the files share: checksums, the text of a refusal, and the layout that is sealed twice (1.37).
- `cpu`: `cpu_manager_state` in four layouts. `memory`: `memory_manager_state` in three.
- `device`: `kubelet_internal_checkpoint`, and `allocate_response`, the protobuf message of the plugin inside it.

Each file has four doors: `parse_*` takes the contents without any check, `read_*` does what a kubelet of a release
would restore or raises `RestoreError` in its words, `*_bytes` writes a file, `*_dump` gives the text that is hashed.

The hard idea: the checksum covers Go's dump of the value with the names of its types. A type that was renamed between
two releases makes another checksum of the same contents, so a reader tries several names.
"""
