"""Yes or no, and why: a kubelet starts on a node, and pods are admitted or rejected in its order and words.

Read `decision` first: it is the value that everything here makes and everything below shows. Then:

node        a machine and settings, with all that the managers derive from both
start       how a kubelet starts: one list of steps, from what an administrator wrote to a ledger
admit       the managers' answer for one pod: hints, merge, allocation, in the kubelet's order
life        what happens besides admissions: containers start, pods go, plugins change
preempt     who must go for a critical pod when the node as a whole is full
filters     what a pod wants of its node beside amounts: labels, taints, ports of the host
decide      the front door: `admit`, then the check against what the node offers as a whole
resize/     other resources for a pod that runs: allocated, put off or infeasible, and who is tried again
history/    a node over time: events as values and as words, the kubelet's restart, what comes of one event
simulation  pods and events played one after the other
effects     what an event of a run changed besides its decisions: who lost his place, what containers got
verdicts    yes or no for many pods: what equals what was decided before is not decided again
doubt/      what of a run depends on a guess about the machine, or on chance
notes       what a prediction stands on: of the start, of pods and what their node offers, of a run
stage       a started node with its configuration and the pods to come, to be asked "what if"; every door makes one
story/      a decision told; it reads the `Decision` and decides nothing a second time
files, written  the state files that the kubelet would have on disk now, and what stands in some that it wrote
held, left  what each pod holds, and on which NUMA nodes; what is free on each

A module calls only those that stand above it in this list; `story` and those below it need no more than
`decision` and `node`; `notes` asks `story` what a crash is about, and `stage` and `history` call `files` at a restart.
Everything is a value: a step returns a new ledger and leaves the old one as it was.

The hard idea: nothing is rolled back. A pod that is rejected after some of its containers were given CPUs leaves them
allocated in the ledger until a manager removes stale state, as it does in the kubelet. So the ledger after a
rejection differs from the one before it, and the next pod may see less than is really free.
"""
