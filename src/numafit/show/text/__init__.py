"""Answers for a terminal, each a function from values to lines.

    simulation story log       a simulation as a table, a decision told, a kubelet's log told
    elsewhere                  why a pod does not go to a certain NUMA node
    events                     the events of a run: as a table, and told
    advice fit comparison      proposals with before and after, counts of pods, two kubelets side by side
    lint checkup               findings of lint (text, workflow annotations), the health of a node
    unchecked                  checks that were not made, and what they lacked
    leases audit               who holds what, what processes really do
    measure                    what a machine and a command gain by nearness, in figures
    notes outcomes             what an answer stands on, the block below it; what could have come out, too
    fleet/                     all nodes of a cluster
    plan docker                where a job would go, what a script with `docker run` lines asks for

Each module reads alone, but for `advice`, `events` and `outcomes`, which show a decision as `simulation` does, and
`unchecked`, which `lint` and `checkup` share. They know no click and no stream: a command prints what it gets. What
comes from outside (commands, names of users and programs) goes through `words.printable`, so that no text moves the
cursor of a terminal.
"""
