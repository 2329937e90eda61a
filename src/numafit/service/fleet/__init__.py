"""All nodes of a cluster on the page: small machines, who waits and why, who is rejected again and again.

    tiles      from the live fleet to what is shown of each node, of waiting pods and of owners whose pods are rejected
    board      what is shown now; tells listeners what has changed, at most once a second
    nodes      one node opened: a whole agent of its own, which ends when nobody looks any more
    app        all of it as one ASGI application

The cluster is only read. A node opens to the same page as `numafit serve --node NAME` has.
"""
