"""The command-line flags that the kubelet of each minor knows: facts, no rules."""

SWITCHES = """
add-dir-header 20-25; alsologtostderr 20-25; anonymous-auth; authentication-token-webhook; cgroups-per-qos;
contention-profiling; cpu-cfs-quota; docker-only 20-23; docker-tls 20-23; enable-cadvisor-json-endpoints 20-20;
enable-controller-attach-detach; enable-debugging-handlers; enable-load-reader 20-36; enable-server;
exit-on-lock-contention; experimental-allocatable-ignore-eviction;
experimental-check-node-capabilities-before-mount 20-23; experimental-kernel-memcg-notification 20-24;
experimental-logging-sanitization 20-23; fail-cgroupv1 31-; fail-swap-on; help; keep-terminated-pod-volumes 20-30;
kernel-memcg-notification; local-storage-capacity-isolation 25-; log-cadvisor-usage 20-36; log-json-split-stream 23-;
log-text-split-stream 30-; logtostderr 20-25; make-iptables-util-chains; one-output 20-25; protect-kernel-defaults;
really-crash-for-testing 20-23; register-node; register-schedulable 20-33; rotate-certificates;
rotate-server-certificates; runonce; seccomp-default 22-; serialize-image-pulls; skip-headers 20-25;
skip-log-headers 20-25; storage-driver-secure 20-36; version;
"""
"""`flag minors;` Flags that need no value: `--flag` alone means true.

No minors: 1.20 to today; `31-` since 1.31; `20-23` gone since 1.24."""

VALUES = """
address; allowed-unsafe-sysctls; application-metrics-count-limit 20-36; authentication-token-webhook-cache-ttl;
authorization-mode; authorization-webhook-cache-authorized-ttl; authorization-webhook-cache-unauthorized-ttl;
azure-container-registry-config 20-29; boot-id-file 20-36; bootstrap-kubeconfig; cert-dir; cgroup-driver;
cgroup-root; chaos-chance 20-21; client-ca-file; cloud-config 20-33; cloud-provider; cluster-dns; cluster-domain;
cni-bin-dir 20-23; cni-cache-dir 20-23; cni-conf-dir 20-23; config; config-dir 28-; container-hints 20-36;
container-log-max-files; container-log-max-size; container-runtime 20-26; container-runtime-endpoint;
containerd 20-36; containerd-namespace 20-36; cpu-cfs-quota-period; cpu-manager-policy;
cpu-manager-policy-options 22-; cpu-manager-reconcile-period; docker 20-23; docker-endpoint 20-23;
docker-env-metadata-whitelist 20-23; docker-root 20-23; docker-tls-ca 20-23; docker-tls-cert 20-23;
docker-tls-key 20-23; dynamic-config-dir 20-23; enforce-node-allocatable; event-burst; event-qps;
event-storage-age-limit 20-36; event-storage-event-limit 20-36; eviction-hard; eviction-max-pod-grace-period;
eviction-minimum-reclaim; eviction-pressure-transition-period; eviction-soft; eviction-soft-grace-period;
experimental-bootstrap-kubeconfig 20-22; experimental-dockershim-root-directory 20-23; experimental-mounter-path;
feature-gates; file-check-frequency; global-housekeeping-interval 20-36; hairpin-mode; healthz-bind-address;
healthz-port; hostname-override; housekeeping-interval; http-check-frequency;
image-credential-provider-bin-dir; image-credential-provider-config; image-gc-high-threshold; image-gc-low-threshold;
image-pull-progress-deadline 20-23; image-service-endpoint; iptables-drop-bit 20-30; iptables-masquerade-bit 20-30;
kube-api-burst; kube-api-content-type; kube-api-qps; kube-reserved; kube-reserved-cgroup; kubeconfig;
kubelet-cgroups; lock-file; log-backtrace-at 20-25; log-dir 20-25; log-file 20-25; log-file-max-size 20-25;
log-flush-frequency; log-json-info-buffer-size 23-; log-text-info-buffer-size 30-; logging-format;
machine-id-file 20-36; manifest-url; manifest-url-header; master-service-namespace 20-26; max-open-files; max-pods;
maximum-dead-containers; maximum-dead-containers-per-container; memory-manager-policy 21-;
minimum-container-ttl-duration; minimum-image-ttl-duration; network-plugin 20-23; network-plugin-mtu 20-23; node-ip;
node-labels; node-status-max-images; node-status-update-frequency; non-masquerade-cidr 20-23; oom-score-adj;
pod-cidr; pod-infra-container-image 20-34; pod-manifest-path; pod-max-pids; pods-per-core; port; provider-id;
qos-reserved; read-only-port; register-with-taints; registry-burst; registry-qps; reserved-cpus; reserved-memory 21-;
resolv-conf; root-dir; runtime-cgroups; runtime-request-timeout; seccomp-profile-root 20-22; stderrthreshold 20-25;
storage-driver-buffer-duration 20-36; storage-driver-db 20-36; storage-driver-host 20-36;
storage-driver-password 20-36; storage-driver-table 20-36; storage-driver-user 20-36;
streaming-connection-idle-timeout; sync-frequency; system-cgroups; system-reserved; system-reserved-cgroup;
tls-cert-file; tls-cipher-suites; tls-min-version; tls-private-key-file; topology-manager-policy;
topology-manager-policy-options 26-; topology-manager-scope; v; vmodule; volume-plugin-dir; volume-stats-agg-period;
"""
"""Flags that take a value."""
