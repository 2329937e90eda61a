"""A switch of a node's configuration that is ordered through the API server, and done by the agent of that node.

    order       the ConfigMap that both sides write into: what is wanted, and what comes of it
    words       its keys, and how it can stand
    survey      all that a plan needs to know of a node, learnt on the node itself
    board       the agent's words in the order, written again and again until the API server takes them
    taker       the agent's side: plans, waits until its plan is approved, does the steps
    asker       the side of the command: orders, approves, follows

Plan, steps and journal are those of `switch/`: an agent that ends in the middle is followed by one that goes on, or by
somebody on the node. Nothing is done before the very plan that was shown is approved, by its digest; and how a kubelet
is stopped and started is said by whoever started the agent, never by an order.
"""
