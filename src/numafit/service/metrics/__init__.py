"""The metrics of the agent.

    table       each name with its type, labels and meaning; `numafit metrics list` prints it
    collector   their values, made from the board each time Prometheus asks

The kubelet's own names are used where the meaning is the same. `table` is read without prometheus-client; only
`collector` loads it. A metric needs its line in the table and its value in the collector; the dashboard in
`examples/` may use no other.
"""
