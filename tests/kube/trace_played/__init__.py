"""A slice of a trace played on the real control plane, beside what `numafit fleet simulate` makes of it.

    slice       some nodes and pods of the public trace, in fast time: one file of nodes and one list of pods for both
    result      what became of each pod: on which node, after how long, how often rejected
    model       the result of the simulation
    ways        which scheduler places: that of the model, the stock one, one that packs, `numafit place`
    player      owners are made when their pods arrive, and taken away when they end; the real result
    choices     whether a scheduler chose a node that the model's score calls a best one, binding by binding
    compared    both results side by side

    python -m tests.kube.trace_played NODES.csv PODS.csv --ways fit,stock,packed,place

plays 50 nodes and 500 pods in four minutes for each way. Real are etcd, API server, controllers and scheduler; the
kubelets are those of `numafit kubelet-sim`. `test_trace_played.py` does so with a few of both.
"""
