"""What people ask about all nodes together: values for tables and sentences.

    usage       what of a node is held, free, and stranded: free, and not usable together
    seats       where each pod of a node sits, and who lies on more NUMA nodes than it needs
    capacity    how many more pods of a shape fit, node by node; nodes that stand alike are counted once
    pools       nodes that should be equal, and which of them are configured otherwise
    findings    what is wrong with nodes, equal findings as one

None of them calls another but `pools`, which makes findings. All take a fleet or the state of a node, and change
nothing.
"""
