"""A node's past, as events that can be played again: from a kubelet's log, or from objects of an API server.

past       the value: events in their order, when each was, and what came of each pod
signs      what lines of a log tell of a node: pods, containers, plugins, starts
known      the pods of manifests, by the names and UIDs that a source gives them
plugins    when plugins registered, and what they listed
log        signs put together to events
life       what objects tell of one pod and of the node: times, ends, restarts
objects    events from pods, Events and a Node with times
agreement  what came of pods when the past was played, beside what its source tells

A module calls only those above it. What a source cannot tell is a note, and is not played.
"""
