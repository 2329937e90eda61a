"""Pods that wait.

queue         who is next, and who need not be asked about again: pure
entries       a pod's place in the queue
helped        which kinds of pods may be helped by what has changed
sentences     why a pod waits
notices       who is told that, and when
"""
