"""Rates: `python -m tests.kube.rates extender` and `… placer`. Ratios inside one run, no times that a test asserts.

    used         processor time of processes
    scheduled    pods that are all there, and how fast schedulers bind them: with the extender and without
    created      pods that are created, and how fast they are bound: with the placer and without

Nodes are objects that nothing stands behind (`bare.py`), so a machine can have 5,000 of them. Every way has its turn in
each round, and medians count. Where the machine has more to do than it can, ratios of processor time say more than
those of time: it is what bounds the rate of a control plane that is busy.
"""
