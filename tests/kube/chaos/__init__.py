"""`python -m tests.kube.chaos`: every program of a cluster is killed by chance while pods come and go.

Nothing is lost, nothing is promised twice, and no error stays after recovery. Read in this order:

components  programs that are killed and started again
scene       a control plane, simulated nodes, a real kubelet, our agent and our device plugins
load        pods by chance
holdings    who holds which CPUs and devices of a node, by its state files and its socket
watch       what must be true all the time
recovery    what must be true once all run again
story       one run from the beginning to its report
"""
