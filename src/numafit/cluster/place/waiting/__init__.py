"""Pods that wait, and what they are told.

    queue         who is next, and who need not be asked about again: pure
    entries       a pod's place in the queue
    helped        which kinds of pods may be helped by what has changed
    sentences     why a pod waits
    reserved      nodes that are kept for large pods, and whom that keeps out
    sizes         objects that say how many pods of a group there are
    claimed       what the volumes of a pod allow
    notices       who was told what, and how it is written
    grouped       pods that start together, and the group's place in the queue
    telling       a few are told each second

A kind of pods that no node takes sleeps until something has changed that could help it: begin with `queue`, `helped`.
"""
