"""From what an administrator wrote to a `KubeletConfig`, in the kubelet's order: file, drop-in files, flags.

- `arguments`: the words of a command line, from a list or from an environment file, with their lines.
- `flags`: what the flags say, and how they override a file.
- `decoder`: a parsed file into typed fields, with the errors of Go's decoder; unknown fields are listed, not refused.
- `inner`: a document inside another one, with its places.
- `forms`: a KubeletConfiguration out of what people have: a file, /configz, a ConfigMap; with places in the outer file.
- `drop_ins`: what drop-in files make of a configuration, in the three ways of the releases.
- `loader`: `ConfigSources`, all that was written, and what becomes of it: the file, the drop-in files, gates and the
  static validation. `decision.start` says in which order.

Nothing is opened here: files come as texts with a name. What the kubelet would refuse is a `StartError` with its
words and its stage; what only numafit refuses (a flag of another release, drop-in files before there were any) is an
`InputError`.
"""
