"""Drawings of a machine: for a terminal, as SVG, as a Graphviz graph, as tables, and its GPU links in words.

    plan       the machine sorted for drawing: packages, NUMA nodes, cores under caches, bundles of devices
    overlay    who sits where, to be drawn over a machine; made from a ledger
    blocks     boxes of text: wrapped, framed, set side by side
    terminal   the drawing for a terminal
    tables     one row per CPU, NUMA node, device or link
    links      the matrix of GPU links, what its kinds mean, groups and best sets
    picture/   the picture as SVG
    dot        the graph for Graphviz

Read `plan`, then `terminal`. `terminal`, `picture` and `dot` walk the same plan, so that all three show the same
machine; `tables` and `links` take their rows from the machine itself. Short words (sizes, labels, the line that
sums a machine up) come from `show.words` and `amounts`.
"""
