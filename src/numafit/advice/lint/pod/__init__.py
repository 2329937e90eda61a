"""All findings about one pod: against its own words, and against the node that it is meant for.

text         the pod as the kubelet sees it, and the manifest with the places of what it says
qos          pods that do not get the exclusive CPUs and memory that they look like asking for
environment  what a container believes about its CPUs and devices, against what the managers will hand it
placement    what no NUMA node can hold, what init containers decide, and what the engine says on an idle node

All three judges call `text` and not each other. What is known about the node travels as `Surroundings`; without a
machine or a kubelet only the checks that need none are made.
"""
