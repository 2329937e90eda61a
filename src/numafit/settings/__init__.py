"""What was ordered: a KubeletConfiguration or flags, together with a release, become one frozen `Settings`.

Read in this order:

- `versions`: the releases, and `Behaviour`, the one table of what they do differently. Algorithms ask the table.
- `settings`: `Settings`, all that the managers look at. `options`: the policy options, which it holds as texts.
- `config`: `KubeletConfig`, the fields of a configuration that concern us, with the kubelet's defaults filled in.
- `gates`: the feature gates of a release, and which are on. `validation`: what the kubelet refuses in a configuration
  before it looks at the machine.
- `eviction`, `allocatable`: what is reserved of a machine; `settings_of` is the last step, from a `KubeletConfig` and
  a machine to `Settings`.
- `example`: a configuration for those who have none.
- `facts`: what a node is told to be and no machine shows: labels, taints, its disk.
- `node_object`: the API server's Node: it tells those facts, and is compared with what machine, configuration and
  release make.

`read/` makes a `KubeletConfig` out of files and flags; `tables/` holds facts by release and no rules. `read`,
`allocatable` and `options` do not know each other; `tables` knows nobody.

The hard idea: most messages are the kubelet's, letter by letter, and they differ between releases. Where the kubelet
walks a Go map, its first error is random; here the names come in byte order.
"""
