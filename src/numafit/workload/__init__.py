"""What is wanted: pods and containers, from any manifest, as the kubelet gets to see them.

Read in this order:

- `pod`: `Pod`, `Container` and their amounts, the QoS class, and what a pod asks for as a whole: the sum of its
  containers or the peak of its init containers, whichever is more.
- `api_server`: what the API server fills in and refuses before the kubelet sees a pod, in its own words.
- `fields`: the names that Kubernetes knows, to tell a typing error from a setting, and the kinds that make pods.
- `manifest`: `read_pods`, the door: a file of any such kinds, with the place of each problem.

`manifest` stands on all others, `api_server` on `pod`, and `pod` on nobody. What a pod asks of the managers on a
given kubelet is not known here: that is `managers.ask`.

The hard idea: amounts are exact decimals that keep the format in which they were written, since the kubelet prints
it.
"""
