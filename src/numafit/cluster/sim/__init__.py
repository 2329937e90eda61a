"""Simulated kubelets: nodes of a real cluster without hardware, whose pods are decided by the engine.

bound       a pod of the API server, as much of it as a kubelet looks at
played      such a pod on its kubelet: how its containers live and end
kubelet     one kubelet: events in, what is to be told out; no network and no clock
sockets/    what a kubelet serves on its node: PodResources, and the registry of device plugins

A module calls only those above it.
"""
