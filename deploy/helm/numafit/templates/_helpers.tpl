{{/* The image of all components. */}}
{{- define "numafit.image" -}}
{{- $repository := required "image.repository: name the image that you have built from deploy/Dockerfile" .Values.image.repository -}}
{{- if .Values.image.digest -}}
{{ $repository }}@{{ .Values.image.digest }}
{{- else -}}
{{ $repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}
{{- end -}}
{{- end -}}

{{/* What an object of component `name` is found by. Selectors cannot be changed: nothing may be added here. */}}
{{- define "numafit.selector" -}}
app.kubernetes.io/name: {{ .name }}
{{- end -}}

{{- define "numafit.labels" -}}
{{ include "numafit.selector" . }}
app.kubernetes.io/part-of: numafit
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
helm.sh/chart: {{ printf "%s-%s" .root.Chart.Name .root.Chart.Version | replace "+" "_" }}
{{- with .root.Values.labels }}
{{ toYaml . }}
{{- end }}
{{- end -}}

{{/* Labels and annotations of a pod. They change when the image or arguments do, never with the chart alone. */}}
{{- define "numafit.podMetadata" -}}
labels:
  {{- include "numafit.selector" . | nindent 2 }}
  app.kubernetes.io/part-of: numafit
  {{- with .own.podLabels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- with .own.podAnnotations }}
annotations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* Where the pods of a component may run, and as what. */}}
{{- define "numafit.scheduling" -}}
{{- with .root.Values.imagePullSecrets }}
imagePullSecrets:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.priorityClassName }}
priorityClassName: {{ . }}
{{- end }}
{{- with .own.nodeSelector }}
nodeSelector:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.tolerations }}
tolerations:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- with .own.affinity }}
affinity:
  {{- toYaml . | nindent 2 }}
{{- end }}
{{- end -}}

{{/* A container that needs nothing of its node: no root, nothing writable but its mounts. */}}
{{- define "numafit.unprivileged" -}}
runAsNonRoot: true
runAsUser: 65532
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
seccompProfile:
  type: RuntimeDefault
{{- end -}}

{{/* Objects with rights, as the code defines them: those in a file that belong to a variant. */}}
{{- define "numafit.rights" -}}
{{- $all := .root.Files.Get (printf "files/rights/%s.yaml" .file) | replace "namespace-of-the-release" .root.Release.Namespace | fromYamlArray -}}
{{- $labels := include "numafit.labels" . | fromYaml -}}
{{- $variant := .variant -}}
{{- range $all }}
{{- if has $variant .variants }}
---
{{ $metadata := merge (dict "labels" $labels) .object.metadata -}}
{{ merge (dict "metadata" $metadata) .object | toYaml }}
{{- end }}
{{- end }}
{{- end -}}

{{/* Only made when the release was uninstalled, and gone when done. The argument is the order. */}}
{{- define "numafit.afterwards" -}}
helm.sh/hook: post-delete
helm.sh/hook-weight: {{ . | quote }}
helm.sh/hook-delete-policy: before-hook-creation,hook-succeeded
{{- end -}}
