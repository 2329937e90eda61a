"""What a simulation needs to be allowed to do, for RBAC."""

from numafit.cluster.topology.model import GROUP, PLURAL

NAME = "numafit-kubelet-sim"

RIGHTS = f"""\
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata:
  name: {NAME}
rules:
- apiGroups: [""]
  resources: [nodes]
  verbs: [create, list, watch, patch, delete]
- apiGroups: [""]
  resources: [nodes/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [pods]
  verbs: [list, watch, delete]
- apiGroups: [""]
  resources: [pods/status]
  verbs: [patch]
- apiGroups: [""]
  resources: [events]
  verbs: [create, patch]
- apiGroups: [{GROUP}]
  resources: [{PLURAL}]
  verbs: [create, patch, list, watch]
---
apiVersion: rbac.authorization.k8s.io/v1
kind: Role
metadata:
  name: {NAME}
  namespace: kube-node-lease
rules:
- apiGroups: [coordination.k8s.io]
  resources: [leases]
  verbs: [create, patch, delete]
"""
"""`nodes: delete` and `leases: delete` only for --remove; the group of NodeTopology only for nodes that publish one."""
