"""The names of the fields that Kubernetes 1.36 knows, to tell a typing error from a setting."""


def _names(text: str) -> frozenset[str]:
    return frozenset(text.split())


POD_SPEC = _names(
    """
    activeDeadlineSeconds affinity automountServiceAccountToken containers dnsConfig dnsPolicy enableServiceLinks
    ephemeralContainers hostAliases hostIPC hostNetwork hostPID hostUsers hostname hostnameOverride imagePullSecrets
    initContainers nodeName nodeSelector os overhead preemptionPolicy priority priorityClassName readinessGates
    resourceClaims resources restartPolicy runtimeClassName schedulerName schedulingGates schedulingGroup
    securityContext serviceAccount serviceAccountName setHostnameAsFQDN shareProcessNamespace subdomain
    terminationGracePeriodSeconds tolerations topologySpreadConstraints volumes workloadRef
    """
)
CONTAINER = _names(
    """
    args command env envFrom image imagePullPolicy lifecycle livenessProbe name ports readinessProbe resizePolicy
    resources restartPolicy restartPolicyRules securityContext startupProbe stdin stdinOnce terminationMessagePath
    terminationMessagePolicy tty volumeDevices volumeMounts workingDir
    """
)
RESOURCES = frozenset(("claims", "limits", "requests"))

TEMPLATES: dict[str, tuple[str, ...]] = {
    "Pod": (),
    "PodTemplate": ("template",),
    "Deployment": ("spec", "template"),
    "ReplicaSet": ("spec", "template"),
    "ReplicationController": ("spec", "template"),
    "StatefulSet": ("spec", "template"),
    "DaemonSet": ("spec", "template"),
    "Job": ("spec", "template"),
    "CronJob": ("spec", "jobTemplate", "spec", "template"),
}
"""The kinds that make pods, and where their pod stands."""

WITHOUT_PODS = _names(
    """
    APIService CertificateSigningRequest ClusterRole ClusterRoleBinding ConfigMap ControllerRevision CSIDriver CSINode
    CustomResourceDefinition DeviceClass EndpointSlice Endpoints Event FlowSchema HorizontalPodAutoscaler Ingress
    IngressClass Lease LimitRange MutatingAdmissionPolicy MutatingAdmissionPolicyBinding MutatingWebhookConfiguration
    Namespace NetworkPolicy Node PersistentVolume PersistentVolumeClaim PodDisruptionBudget PriorityClass
    PriorityLevelConfiguration ResourceClaim ResourceClaimTemplate ResourceQuota ResourceSlice Role RoleBinding
    RuntimeClass Secret Service ServiceAccount StorageClass ValidatingAdmissionPolicy ValidatingAdmissionPolicyBinding
    ValidatingWebhookConfiguration VolumeAttachment
    """
)
"""Kinds that often stand in one file with a workload, and are passed over."""
