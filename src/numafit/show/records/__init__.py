"""Answers as programs get them, from `-o json` and from the API: one module per answer.

    simulation story            what a kubelet decides, and why
    effects                     what an event of a run changed besides its decisions
    outcomes                    what could have come out, too, and if what
    whatif walk                 both together with what comes of it, and how each merge walked
    elsewhere                   why not on that NUMA node?
    advice fit comparison       what to change, how many fit, what another kubelet changes
    patch                       a proposal applied to its file, and as a command
    lint sarif checkup log      mistakes in files (ours, and as SARIF), the health of a node, the log of a kubelet
    ledger settings node agent  the node that an agent shows: who holds what, its kubelet, its state, its decisions
    alignment                   how a holder lies: aligned, split, remote, shared; and why
    leases plan docker          a host: who holds what, where a job or a container would go
    measure                     what a machine and a command gain by nearness, in figures
    audit past shares           what processes really do, and did over time; one job's shares
    use                         how busy CPUs, memory and GPUs of the machine are, whoever claimed them
    fleet                       all nodes of a cluster: the table, a pod, how many fit, what is wrong with which
    fleet_board                 all nodes of a cluster as the page shows them, who waits, who is rejected
    fleet_run                   pods in time on a fleet: what came of each rule
    fleet_what_if               the same with one thing changed: what it gains, how many nodes are enough
    gpu_links replay            how the GPUs of a machine reach each other, what became of recorded cases
    time                        a moment as records write it

The order of the keys and what is left out are part of an answer: programs compare them. Sets are written as texts
such as `0-3,8`, for JSON has no numbers as wide as the mask of a big machine; amounts are bytes and whole numbers.
What is left out in a case is UNSET, never a default that is not written. Where a record tells of a decision it uses the
words of the recordings (`replay.outcomes`). A record may use another record and `draw`, and no text.
"""
