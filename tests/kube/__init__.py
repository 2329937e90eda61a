"""A real control plane and real kubelets for tests, on one machine and without containers.

`README.md` says how a test uses them. Read in this order:

build          the programs, built once from published Go modules and kept outside the checkout
processes      programs that end with the process that started them, from `numafit.cluster.up`
api            requests to the API server
control_plane  the control plane of `numafit cluster up`, and requests to it
controllers    those of JobSet and LeaderWorkerSet, which are no part of it
outside        containers and device plugins as the kubelet sees them: `programs/cri`
mounts         a mount namespace in which another machine's /sys lies over ours
kubelet        a kubelet on a captured machine, and what can be done to it
captured       the machine that most of them have
agent          `numafit node-agent` on the node of a kubelet, with its account
service        a kubelet that commands stop and start, as systemd does
simulation     `numafit kubelet-sim`, and somebody who has the rights that it prints
simulated      a simulated kubelet with its sockets, as a process of its own
pod_resources  what a kubelet answers at its PodResources socket
histories      what happens to a node, by a seed
recorder       events on a real kubelet, as the folder of a run
live           `python -m tests.kube.live`: many seeds, compared with numafit
chaos          `python -m tests.kube.chaos`: everything is killed by chance, under load
trace_played   `python -m tests.kube.trace_played`: a slice of a trace, beside what the simulation makes of it
"""
