"""Many nodes: where a pod would be admitted, in which order to try, and why not elsewhere.

    state       how one node stands, and what of that tells it from others for a new pod
    groups      nodes that stand alike, and which groups have changed
    room        what is left of a node for large aligned pods, and how much of it a pod would take
    verdicts    a pod on a node as it stands: decided once for equal nodes and equal pods
    orders      pods that are promised to a node and come in an order that nobody knows
    fleet       the nodes, what is promised to them and what they refused: a value
    needs       whether it matters for a pod who chooses its node: some node may refuse it though its sums have room
    places      the question: which nodes, in which order, why not the others
    waiting/    pods that no node takes: why, what would help, who comes first, and who comes together
    look/       what people ask about all nodes: what is stranded, who is split, how many more fit
    simulation/ pods that come and go in time, placed by several rules
    what_if/    the same with one thing changed: what it gains, and how many nodes are enough

A module calls only those above it. Everything here is a value or remembers what it would find again; who speaks to a
cluster keeps one fleet, changes it by reports, and asks.
"""
