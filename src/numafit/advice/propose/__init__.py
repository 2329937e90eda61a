"""What to change so that a pod is placed well, the least disturbing change first.

proposal    one change with the decision after it, how much it disturbs, and its patch of a file
knobs       the numbers of a pod that can be turned, and a pod with another number
course      how all the pods go without any change, and who is lost after one
trial       one pod among others, and the question that every proposal has to pass
resize      other numbers: how far exactly each has to go
reshape     another form of the pod: Guaranteed, whole CPUs, cut into several pods
neighbours  other pods that could come later, or would have to go
orders      other orders for the kubelet: scope, policy, options, where its reservation lies
reservation a smaller reservation, by each side that could give it
kubelet     the orders tried on kubelets that start with them, once for all pods
patched     a manifest or a configuration with such a patch in it
advise      the front door: finds the fault of each pod, asks all of the above and sorts what they give

`advise` calls the four that search (`kubelet` with its two); they call `trial` and `proposal`, and those `knobs` and
`course`. They do not call each other.

The hard idea: a pod is never tried alone. The pods of one object share a template, so a changed form is tried for all
of them, among the pods before and between, and a proposal also names the pods behind that would now be rejected. So
that the work grows with the shapes of pods and not with their number, whole runs ask `decision.verdicts`.
"""
