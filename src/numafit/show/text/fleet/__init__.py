"""Answers about all nodes of a cluster, for a terminal.

    top         nodes as a table: what is free, what is stranded, who is split
    account     how a pod stands: where it sits, why it was rejected, why it waits
    capacity    how many more pods fit, and on which nodes
    checkup     configuration and release of every node, and what is wrong with which
    simulation  pods in time, placed by several rules: what each led to
    what_if     the same with one thing changed: what it gains, and how many nodes are enough
    node        one node, drawn, with who sits where

Each reads alone, but for `node`, which tells a seat as `account` does, and `what_if`, which tells amounts as
`simulation` does. Long lists of nodes are cut, with the number of
the rest: JSON has all of them.
"""
