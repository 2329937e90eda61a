"""The device plugin: devices of this node, offered to its kubelet by the interface v1beta1.

    offer         values: a resource, its devices, what a container gets with each
    preferred     which devices a container should get
    answers       offers as the messages of the interface
    listing       offers for people and programs, without a kubelet
    source/       where devices come from: a file, the PCI bus, NVIDIA's GPUs, a description of a machine
    socket        sockets in the kubelet's folder, and whether one was made anew
    plugin        one resource on its socket: calls answered, lists sent
    registration  the plugin kept known to the kubelet, also to the next one
    service       all plugins of a source, until they are told to stop

Read `offer` first. What needs grpcio, an extra, stands from `answers` on, less `listing` and `source/`.
"""
