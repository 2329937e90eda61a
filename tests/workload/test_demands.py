from numafit.workload.demands import NO_DEMANDS, AffinityTerm, Demands, HostPort, LabelRule, Toleration
from numafit.workload.pod import Pod
from numafit.workload.reading import read_pods

PLAIN = """
apiVersion: v1
kind: Pod
metadata: {name: web}
spec:
  containers: [{name: app, image: web, ports: [{containerPort: 80}]}]
"""


def pod_of(text: str) -> Pod:
    (pod,) = read_pods(text).pods
    return pod


def test_a_plain_pod_wants_nothing_of_its_node() -> None:
    """One value stands for all of them."""
    assert pod_of(PLAIN).demands is NO_DEMANDS


def test_each_port_of_a_pod_in_the_network_of_the_host_is_one_of_the_host() -> None:
    """The API server and the kubelet fill it in (1.20 to 1.37)."""
    assert pod_of(PLAIN + "  hostNetwork: true\n").demands == Demands(ports=(HostPort(80),))


def test_of_init_containers_only_sidecars_keep_ports() -> None:
    init = """  initContainers:
  - {name: once, ports: [{containerPort: 1, hostPort: 1}]}
  - {name: side, restartPolicy: Always, ports: [{containerPort: 2, hostPort: 3, protocol: UDP, hostIP: 10.0.0.1}]}
"""
    assert pod_of(PLAIN + init).demands == Demands(ports=(HostPort(3, "UDP", "10.0.0.1", sidecar=True),))


def test_what_a_pod_requires_of_labels_and_taints_is_read() -> None:
    text = """
apiVersion: apps/v1
kind: Deployment
metadata: {name: web}
spec:
  template:
    metadata: {labels: {kubernetes.io/os: windows}}
    spec:
      os: {name: windows}
      nodeSelector: {disk: ssd}
      securityContext: {supplementalGroupsPolicy: Strict}
      tolerations: [{key: gpu, operator: Exists, effect: NoExecute}]
      affinity:
        nodeAffinity:
          preferredDuringSchedulingIgnoredDuringExecution: []
          requiredDuringSchedulingIgnoredDuringExecution:
            nodeSelectorTerms:
            - matchExpressions: [{key: zone, operator: In, values: [a, b]}]
            - matchFields: [{key: metadata.name, operator: In, values: [n1]}]
      containers: [{name: app}]
"""
    assert pod_of(text).demands == Demands(
        selector=(("disk", "ssd"),),
        affinity=(
            AffinityTerm((LabelRule("zone", "In", ("a", "b")),)),
            AffinityTerm((), (LabelRule("metadata.name", "In", ("n1",)),)),
        ),
        tolerations=(Toleration("gpu", "Exists", "", "NoExecute"),),
        os="windows",
        os_label="windows",
        strict_groups=True,
    )


def test_preferences_are_no_demands() -> None:
    text = PLAIN + "  affinity: {nodeAffinity: {preferredDuringSchedulingIgnoredDuringExecution: []}}\n"
    assert pod_of(text).demands is NO_DEMANDS
