"""The same fleet with one thing changed: pods of another shape, what a change gains, how many nodes are enough.

    shapes   pods that ask for something else
    gain     one run against another: what is better and what is worse, and which change gains most
    share    so many nodes of several kinds, as near to the shares that they have now as whole nodes can be
    search   the smallest number that is enough, by playing some

A module calls only those above it. All of it is pure; who plays the runs is told what to play next.
"""
