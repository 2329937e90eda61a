"""A node over time: pods come and go, plugins and containers end, the kubelet stops and starts again.

event      what can happen, as values
lines      the words for it, in a file of events: read and written
step       a decision in a run
situation  how a node stands between two events, and what waits while its kubelet is down
restart    a kubelet starts again over its state, and admits everybody once more
coming     pods that come, which is all that most runs know
happen     one event: how the node stands after it, and what the kubelet decided at it

A module calls only those above it. `simulation`, one room up, plays events one after the other.
"""
