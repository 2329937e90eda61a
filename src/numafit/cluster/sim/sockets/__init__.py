"""The real sockets of a simulated node: what an exporter or a device plugin needs to believe that it is on a node.

    releases    what each kubelet release does at its sockets
    folder      where they lie, and what a starting kubelet removes there
    resources   how a situation reads as PodResources messages
    lister      PodResources served: its calls, limits and errors
    remote      a real plugin in the place of one that the engine plays: its answers are waited for
    registry    plugins that register, list devices, end and come again, as events of the kubelet
    service     all of it for one kubelet, made anew whenever that starts

A module calls only those above it. Decisions wait for plugins in the node's own thread (`Turn`), so that nothing else
of that node is decided meanwhile and other nodes go on.
"""
