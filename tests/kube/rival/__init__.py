"""A rival on the same fleet: the plugin NodeResourceTopologyMatch of scheduler-plugins, in a scheduler of its own.

    publish     NodeResourceTopology objects of simulated nodes, which the plugin reads
    scheduler   its configuration, and the stock scheduler replaced by it
    cases       pods of which its rule and a kubelet may think otherwise, each on a node of its own
    judge       what becomes of them: with the rival, with the placer, and bound by hand

    python -m tests.kube --release scheduler-plugins-v0.34.7
    python -m tests.kube.rival
    python -m tests.kube.counted --ways rival --policy single-numa-node

The second prints the table of the cases; the third counts the rival as the other ways are counted.
"""
