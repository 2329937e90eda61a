"""What to do about it: the engine asked many times, with one thing changed each time.

cures       what to do about each refused start, by its code
inspection/ one kubelet as it was written: every mistake in it, where it stands, and what could not be checked
alignment   does what a pod was given lie together? Units that cross NUMA nodes, GPUs that are torn apart
verdict     how each holder lies, in one word: aligned, split, remote GPU, shared; and what makes it so
compare     the same pods under two kubelets: which decisions change, and which rule of the release explains it
fit         how many more pods of a shape fit, and what is left then
stop        what keeps the next one out: the rule with its numbers, and the resources that stand in the way
variants    the same node under every topology policy, scope and option
refusal     a kubelet that would not start, as bad input at its line of the configuration
propose/    what to change so that a pod is placed well
logs/       what a kubelet's log tells of its admissions
past/       what happened to a node, from a log or from API objects, as events to play
doctor/     would this kubelet start, and does its state make sense?
lint/       mistakes in configurations, flags, pods and device plugin files

Begin with `alignment`, then `propose/trial`: they say what "placed well" means. All of it stands on `decision.stage`:
a started node that is asked and never changed. `propose`, `fit` and `lint` use `alignment`; `fit`, `stop` and
`variants` use `propose`. `doctor`, `lint` and `refusal` share `cures` and `inspection`, and `past` reads
lines by `logs`; other folders do not call each other.

Nothing in this room prints or writes: values come in and values go out, and `show` makes them JSON, tables and text.
No proposal is guessed: each one was decided by the engine before it is given.
"""
