"""The fields of a KubeletConfiguration (v1beta1), their Go types, and the minors that have them: facts, no rules."""

FIELDS = {
    "v1beta1.KubeletConfiguration": """
address string; allowedUnsafeSysctls []string; authentication v1beta1.KubeletAuthentication;
authorization v1beta1.KubeletAuthorization; cgroupDriver string; cgroupRoot string; cgroupsPerQOS bool;
clusterDNS []string; clusterDomain string;
configMapAndSecretChangeDetectionStrategy string/v1beta1.ResourceChangeDetectionStrategy; containerLogMaxFiles int32;
containerLogMaxSize string; containerLogMaxWorkers int32 30-; containerLogMonitorInterval *duration 30-;
containerRuntimeEndpoint string 27-; contentType string; cpuCFSQuota bool; cpuCFSQuotaPeriod *duration;
cpuManagerPolicy string; cpuManagerPolicyOptions map[string]string 22-; cpuManagerReconcilePeriod duration;
crashLoopBackOff v1beta1.CrashLoopBackOffConfig 32-; defaultPodSysctls map[string]string 37-;
enableContentionProfiling bool; enableControllerAttachDetach bool; enableDebugFlagsHandler bool 21-;
enableDebuggingHandlers bool; enableProfilingHandler bool 21-; enableServer bool; enableSystemLogHandler bool;
enableSystemLogQuery bool 27-; enforceNodeAllocatable []string; eventBurst int32; eventRecordQPS int32;
evictionHard map[string]string; evictionMaxPodGracePeriod int32; evictionMinimumReclaim map[string]string;
evictionPressureTransitionPeriod duration; evictionSoft map[string]string; evictionSoftGracePeriod map[string]string;
failCgroupV1 bool 31-; failSwapOn bool; featureGates map[string]bool; fileCheckFrequency duration;
hairpinMode string; healthzBindAddress string; healthzPort int32; httpCheckFrequency duration;
imageGCHighThresholdPercent int32; imageGCLowThresholdPercent int32; imageMaximumGCAge duration 29-;
imageMinimumGCAge duration;
imagePullCredentialsVerificationPolicy string/v1beta1.ImagePullCredentialsVerificationPolicy 33-;
imageServiceEndpoint string 27-; iptablesDropBit int32; iptablesMasqueradeBit int32; kernelMemcgNotification bool;
kubeAPIBurst int32; kubeAPIQPS int32; kubeReserved map[string]string; kubeReservedCgroup string;
kubeletCgroups string; localStorageCapacityIsolation bool 25-; logging any; makeIPTablesUtilChains bool;
maxOpenFiles int64; maxParallelImagePulls int32 27-; maxPods int32; memoryManagerPolicy string 21-;
memoryReservationPolicy string/v1beta1.MemoryReservationPolicy 36-; memorySwap v1beta1.MemorySwapConfiguration 22-;
memoryThrottlingFactor float64 22-; mergeDefaultEvictionSettings bool 33-; nodeLeaseDurationSeconds int32;
nodeStatusMaxImages int32; nodeStatusReportFrequency duration; nodeStatusUpdateFrequency duration; oomScoreAdj int32;
podCIDR string; podLogsDir string 30-; podPidsLimit int64; podsPerCore int32; port int32;
preloadedImagesVerificationAllowlist []string 33-; protectKernelDefaults bool; providerID string;
qosReserved map[string]string; readOnlyPort int32; registerNode bool 23-; registerWithTaints []v1.Taint 23-;
registryBurst int32; registryPullQPS int32; reservedMemory []v1beta1.MemoryReservation 21-;
reservedSystemCPUs string; resolvConf string; rotateCertificates bool; runOnce bool; runtimeRequestTimeout duration;
seccompDefault bool 22-; serializeImagePulls bool; serverTLSBootstrap bool; showHiddenMetricsForVersion string;
shutdownGracePeriod duration; shutdownGracePeriodByPodPriority []v1beta1.ShutdownGracePeriodByPodPriority 23-;
shutdownGracePeriodCriticalPods duration; singleProcessOOMKill bool 32-; staticPodPath string; staticPodURL string;
staticPodURLHeader map[string][]string; streamingConnectionIdleTimeout duration; syncFrequency duration;
systemCgroups string; systemReserved map[string]string; systemReservedCgroup string; tlsCertFile string;
tlsCipherSuites []string; tlsCurvePreferences []int32 36-; tlsMinVersion string; tlsPrivateKeyFile string;
topologyManagerPolicy string; topologyManagerPolicyOptions map[string]string 26-; topologyManagerScope string;
tracing v1.TracingConfiguration 25-; userNamespaces v1beta1.UserNamespaces 33-; volumePluginDir string;
volumeStatsAggPeriod duration;
""",
    "v1.Taint": """
key string; value string; effect string/v1.TaintEffect; timeAdded any;
""",
    "v1.TracingConfiguration": """
endpoint string 25-; samplingRatePerMillion int32 25-;
""",
    "v1beta1.CrashLoopBackOffConfig": """
maxContainerRestartPeriod *duration 32-;
""",
    "v1beta1.KubeletAnonymousAuthentication": """
enabled bool;
""",
    "v1beta1.KubeletAuthentication": """
anonymous v1beta1.KubeletAnonymousAuthentication; webhook v1beta1.KubeletWebhookAuthentication;
x509 v1beta1.KubeletX509Authentication;
""",
    "v1beta1.KubeletAuthorization": """
mode string/v1beta1.KubeletAuthorizationMode; webhook v1beta1.KubeletWebhookAuthorization;
""",
    "v1beta1.KubeletWebhookAuthentication": """
cacheTTL duration; enabled bool;
""",
    "v1beta1.KubeletWebhookAuthorization": """
cacheAuthorizedTTL duration; cacheUnauthorizedTTL duration;
""",
    "v1beta1.KubeletX509Authentication": """
clientCAFile string;
""",
    "v1beta1.MemoryReservation": """
limits v1.ResourceList 21-; numaNode int32 21-;
""",
    "v1beta1.MemorySwapConfiguration": """
swapBehavior string 22-;
""",
    "v1beta1.ShutdownGracePeriodByPodPriority": """
priority int32 23-; shutdownGracePeriodSeconds int64 23-;
""",
    "v1beta1.UserNamespaces": """
idsPerPod int64 33-;
""",
}
"""Go type -> `field type minors;`. No minors: 1.20 to today; `26-` since 1.26; `20-23` gone since 1.24.

`*duration` may be null, `duration` may not. `string/x` is a string under the type name x. `any` is not looked into.
"""
