"""Would this kubelet start, and does its state make sense? Why not, the safe way out, and what that costs.

diagnosis  one thing that is wrong: code, place, the kubelet's words, why, cure, cost
remedy     from a start-up error to the steps out of it, and what they cost
state      what in a state file does not fit the machine; and, of a node that starts, what its state gets wrong
checkup    the front door: all checks in the kubelet's order
repair     state files that a kubelet takes again, with as much of the old one as can be kept

`checkup` and `repair` call the others and not each other. Nothing is written here: a repair is a text, and
cli/kubelet/doctor puts it in its place.

The kubelet stops at its first error. The doctor goes on where that is possible, so that the errors which would come
after the first cure are known at once; what an earlier error keeps from being looked at is named as unchecked.
"""
