"""What a cluster needs to run the placer: an account with no more rights than it uses, two replicas and their Service.

The configuration of the webhook is not among it: the process writes that itself once somebody answers, with the
authority of its own certificate.
"""

from collections.abc import Sequence

from numafit.cluster.admission.configuration import SERVICE_PORT
from numafit.cluster.admission.options import WebhookOptions
from numafit.cluster.admission.rights import cluster_rules, namespace_rules
from numafit.cluster.kube.objects import ObjectJson
from numafit.cluster.kube.rights import bound_role, lease_rules, rule, unbound_only
from numafit.cluster.live.trust import offer_rules, offers_of_ours_only
from numafit.cluster.live.words import PLACER
from numafit.cluster.place.waiting.sizes import group_rules
from numafit.cluster.topology.definition import with_definition
from numafit.cluster.topology.model import GROUP, PLURAL

REPLICAS = 2
ENDING_SECONDS = 30


class PlaceManifest:
    """`arguments`: of the command in the pods. `more_rules`: of the ClusterRole and of the Role in our namespace, for
    what runs beside. `more_objects`: what that needs, too."""

    def __init__(
        self,
        webhook: WebhookOptions,
        image: str,
        metrics_port: int,
        arguments: Sequence[str] = (),
        more_rules: tuple[Sequence[ObjectJson], Sequence[ObjectJson]] = ((), ()),
        more_objects: Sequence[ObjectJson] = (),
    ) -> None:
        self._webhook, self._image, self._metrics_port = webhook, image, metrics_port
        self._arguments, self._more, self._more_objects = arguments, more_rules, more_objects

    @property
    def _labels(self) -> ObjectJson:
        """A new one each time: YAML would refer from one to the other."""
        return {"app.kubernetes.io/name": self._webhook.name}

    def text(self) -> str:
        """YAML documents for `kubectl apply -f -`."""
        return with_definition(self.objects())

    def objects(self) -> list[ObjectJson]:
        namespace = self._webhook.namespace
        return [
            {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
            {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": self._meta()},
            *self.rights(),
            *unbound_only(self._webhook.name, namespace, "placer"),
            *offers_of_ours_only(self._webhook.name),
            *self._more_objects,
            self._service(),
            self._budget(),
            self._deployment(),
        ]

    def rights(self) -> list[ObjectJson]:
        name, account = self._webhook.name, self._meta()
        cluster = [*place_rules(), *cluster_rules(self._webhook), *self._more[0]]
        own = [*lease_rules(PLACER), *namespace_rules(self._webhook), *self._more[1]]
        return [*bound_role(name, cluster, account), *bound_role(name, own, account, self._webhook.namespace)]

    def _meta(self) -> ObjectJson:
        return {"name": self._webhook.name, "namespace": self._webhook.namespace}

    def _service(self) -> ObjectJson:
        ports = [{"name": "webhook", "port": SERVICE_PORT, "targetPort": "webhook"}]
        spec = {"selector": self._labels, "ports": ports}
        return {"apiVersion": "v1", "kind": "Service", "metadata": self._meta(), "spec": spec}

    def _budget(self) -> ObjectJson:
        spec = {"minAvailable": 1, "selector": {"matchLabels": self._labels}}
        return {"apiVersion": "policy/v1", "kind": "PodDisruptionBudget", "metadata": self._meta(), "spec": spec}

    def _deployment(self) -> ObjectJson:
        webhook = self._webhook
        container = {
            "name": "place",
            "image": self._image,
            "command": [
                "numafit",
                "place",
                f"--namespace={webhook.namespace}",
                f"--service={webhook.name}",
                "--identity=$(POD_NAME)",
                "--metrics-address=0.0.0.0",
                f"--port={webhook.port}",
                f"--metrics-port={self._metrics_port}",
                *self._arguments,
            ],
            "env": [{"name": "POD_NAME", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}],
            "ports": [
                {"name": "webhook", "containerPort": webhook.port},
                {"name": "metrics", "containerPort": self._metrics_port},
            ],
            "readinessProbe": {"httpGet": {"path": "/readyz", "port": "metrics"}, "periodSeconds": 5},
            "livenessProbe": {
                "httpGet": {"path": "/livez", "port": "metrics"},
                "periodSeconds": 10,
                "initialDelaySeconds": 30,
            },
            "resources": {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}},
            "securityContext": {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            },
        }
        apart = {
            "weight": 100,
            "podAffinityTerm": {
                "labelSelector": {"matchLabels": self._labels},
                "topologyKey": "kubernetes.io/hostname",
            },
        }
        pod = {
            "serviceAccountName": webhook.name,
            "terminationGracePeriodSeconds": ENDING_SECONDS,
            "nodeSelector": {"kubernetes.io/os": "linux"},
            "securityContext": {
                "runAsNonRoot": True,
                "runAsUser": 65532,
                "seccompProfile": {"type": "RuntimeDefault"},
            },
            "affinity": {"podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [apart]}},
            "containers": [container],
        }
        spec = {
            "replicas": REPLICAS,
            "selector": {"matchLabels": self._labels},
            "template": {"metadata": {"labels": self._labels}, "spec": pod},
        }
        metadata = {**self._meta(), "labels": self._labels}
        return {"apiVersion": "apps/v1", "kind": "Deployment", "metadata": metadata, "spec": spec}


def place_rules() -> list[ObjectJson]:
    """Of the ClusterRole."""
    return [
        rule("", ["nodes"], ["list", "watch"]),
        # get: what became of a patch that nobody answered. patch: the release. delete: pods that cannot be bound.
        rule("", ["pods"], ["get", "list", "watch", "patch", "delete"]),
        # The condition that says why a pod waits.
        rule("", ["pods/status"], ["patch"]),
        # Which nodes a pod was released to.
        *offer_rules(),
        rule("", ["events"], ["create", "patch"]),
        # Which nodes reach the volumes of a pod that waits.
        rule("", ["persistentvolumeclaims", "persistentvolumes"], ["get"]),
        rule("storage.k8s.io", ["storageclasses"], ["get"]),
        rule(GROUP, [PLURAL], ["list", "watch"]),
        # How many pods of a group start together.
        *group_rules(),
    ]
