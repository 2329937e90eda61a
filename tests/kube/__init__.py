"""A real control plane and real kubelets for tests, on one machine and without containers.

`README.md` says how a test uses them. Read in this order:

build          the programs, built once from published Go modules and kept outside the checkout
processes      programs that end with the process that started them
certificates   a certificate authority and what it signs, with openssl
api            requests to the API server
control_plane  etcd, kube-apiserver, kube-controller-manager, kube-scheduler
outside        containers and device plugins as the kubelet sees them: `programs/cri`
mounts         a mount namespace in which another machine's /sys lies over ours
kubelet        a kubelet on a captured machine, and what can be done to it
histories      what happens to a node, by a seed
recorder       events on a real kubelet, as the folder of a run
live           `python -m tests.kube.live`: many seeds, compared with numafit
"""
