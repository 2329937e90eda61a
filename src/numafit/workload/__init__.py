"""What is wanted: pods and containers, from any manifest, as the kubelet gets to see them.

Read in this order:

- `demands`: what a pod wants of its node beside amounts: labels, ports of the host, tolerations.
- `pod`: `Pod`, `Container` and their amounts, the QoS class, and what a pod asks for as a whole: the sum of its
  containers or the peak of its init containers, whichever is more.
- `api_server`: what the API server fills in and refuses before the kubelet sees a pod, in its own words.
- `fields`: the names that Kubernetes knows, to tell a typing error from a setting, and its own kinds.
- `kinds`: where an object of any kind has its pod templates, how many pods they make, and how those are called.
- `served`: what an API server or a kubelet wrote beside the spec: the node, the phase, the owners.
- `standing`: the priority of a pod, by its class where it has one, and whether it is static.
- `unread`: what a pod says and nobody here looks at.
- `manifest`: one template to a `Workload`, with the place of each problem; `values` gets at its parts.
- `objects`: a file to the objects that make pods, and a count of the others.
- `written`: a pod as a manifest again, with what it asks of the managers.
- `reading`: `read_pods` and `read_files`, the doors: which pods count, in which order, and notes on those left out.

`reading` stands on all others but `written`, `manifest` on all but `objects`, `pod` on `demands`, and `fields` and
`values` on nobody. What a pod asks of the managers on a given kubelet is not known here: that is `managers.ask`.

The hard idea: amounts are exact decimals that keep the format in which they were written, since the kubelet prints
it.
"""
