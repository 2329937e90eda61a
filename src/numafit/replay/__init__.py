"""What was recorded: cases of real kubelet code, computed again from their input and compared.

A recording is a line of JSON with a release, a family, an `input` and what the kubelet made of it, `expect`. Read in
this order:

inputs      the machine, the settings and the pods of an `input` as our values
outcomes    decisions, hints and placements in the words of an `expect`
comparison  is the computed result the recorded one, apart from what the kubelet leaves to chance?
choices     random choices that fall as a record tells them
runs/       runs of a whole kubelet: the events of one, and what was seen after each
cases/      one module for each kind of case: from its input to what `expect` should say
replay      the front door: `compute` a case, or `replay` it and give a verdict
simulated   the other way: a simulation of ours written as a recording
simulated_run  a whole run of ours, with all that happened, written as one

`replay` and `simulated` call the cases, the cases call what stands above them; nothing calls upwards. Reading
files, chunks and processes are the business of cli/kubelet/replay.

The hard idea is chance. Go walks maps in random order, so one input has several right outcomes. numafit makes one
sorted choice; where the record differs, the case is played again with `choices` that follow the record, and where the
record does not tell an order, with one order after the other. Only if none of them gives the record does the case
differ.
"""
