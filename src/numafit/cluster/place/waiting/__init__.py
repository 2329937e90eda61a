"""Pods that wait.

queue         who is next, and who need not be asked about again: pure
entries       a pod's place in the queue
helped        which kinds of pods may be helped by what has changed
sentences     why a pod waits
reserved      nodes that are kept for large pods, and whom that keeps out
grouped       pods that start together, and the group's place in the queue
sizes         objects that say how many they are
claimed       what the volumes of a pod allow
notices       who is told that, and when
"""
