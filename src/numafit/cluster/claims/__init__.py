"""Devices that ResourceClaims give to pods (DRA): who holds which, and on which NUMA node it is.

    objects     ResourceClaims and ResourceSlices, no more of them than is used
    fetch       those of one node, from the API server
    read        those in files, among other objects
    held        pod -> the devices that its claims give to it, with their NUMA nodes
    notes       pods that have such devices and exclusive CPUs: no manager of the kubelet aligns these

A scheduler chooses such devices and a driver prepares them. The Topology Manager takes no part in it, so what is told
here is seen, and nothing of it is decided.
"""
