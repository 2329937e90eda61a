"""Runs of a whole kubelet: what happened to a node, event by event, and what was seen after each.

A run is kept as a folder: `case.json` (the events), `result.json` (what was seen), the kubelet's configuration, the
machine and the manifests with the UIDs that the pods had. Read in this order:

steps     the events of a case in the words of an event file
seen      what a result tells of each: verdicts, victims, resizes, state files, the node's allocatable, a crash
compare   is what numafit says after an event what was seen, apart from what the kubelet leaves to chance?
follow    choices that fall as they were seen

Nothing here opens a file: cli/kubelet/run_folder reads the folder, cases/run plays it.
"""
