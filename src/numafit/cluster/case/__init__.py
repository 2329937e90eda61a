"""One node as its cluster tells of it: the Node, its kubelet's configuration, its pods, its topology.

    case        the value: files by their names, and what could not be had
    fetch       from the API server
    strip       without what is nobody else's business
    folder      as a folder, which every command takes in the place of the live node

Whether it comes from the API server or from a folder, the same readers read the same files.
"""
