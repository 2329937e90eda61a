"""Who may sit where: the kubelet's managers, each behind the same small protocol.

Read in this order:

- `ask`: what a pod asks of the managers, worked out once per admission.
- `refused`: why a manager could not allocate, as values.
- `protocol`: `Manager` (hints, allocate, for a container or a whole pod), the `Call` that an admission hands from one
  to the next with its ledger, `Refusal`, and `Choices`, all that the kubelet leaves to chance.
- `topology/`: what a hint is, how the hints of all managers become one, and the policies.
- `cpu/`, `memory/`, `device/`: the managers. In each `manager` is the policy at work, and `start` reads its state
  file when the kubelet starts; in `cpu/` and `memory/` it makes the manager, too.

`cpu`, `memory` and `device` do not know each other. They use `protocol`, `ask` and `topology`; `topology` and `ask`
know no manager. The order of the managers and of their start is `decision`'s. A new resource is a new folder here and
a place in that order.

The hard idea: nothing is rolled back. A manager may move `call.ledger` on and refuse all the same, because the
kubelet does so, and what it leaves behind shows in the next admission.
"""
