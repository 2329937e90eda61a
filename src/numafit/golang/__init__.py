"""Go's habits: what makes the bytes and texts of numafit equal to those of the kubelet, which is written in Go.

Read in this order:

- `text`: how Go prints and reads small values: quoted text, maps in byte order, booleans, numbers, durations, several
  errors in one sentence, and the text of a nil pointer.
- `sort`: Go's `sort.Slice` up to Go 1.18, step by step.
- `json`: JSON as a tree that keeps what Go looks at, with Go's error texts.
- `spew`: the text of a value that the kubelet hashes for a checksum, and the hash.
- `types`, then `containers`: the Go types of which the state files are made. Each one reads itself from JSON, writes
  itself to JSON and dumps itself for the checksum.

`containers` stands on `types`, `types` on `json` and `spew`, `json` on `text`. Nothing here knows a machine, a pod or
a release. The kubelet's own messages do not belong here; they stand where the kubelet would say them.

The hard idea is how Go decodes: into a value that is already there. A value of the wrong type is remembered, the rest
is still read, and the first such mismatch is the error in the end. So one decoding has a result and an error at once.
"""
