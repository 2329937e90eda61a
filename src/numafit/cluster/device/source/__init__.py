"""Where devices come from, each a class that is read again and again.

    source        the protocol
    described     the devices of a machine that somebody describes: for tests
    file          devices of any kind, listed in a file
    pci           the PCI bus, by class, vendor or driver
    nvidia        NVIDIA's GPUs through NVML

None of them knows the kubelet.
"""
