{{/* Returns a file of deploy/ with the names of this chart's hub. The argument is a list: the root context and the name of the file. The hub
may read both ServiceAccounts. */}}
{{- define "file" -}}
{{- $root := index . 0 -}}
{{ $root.Files.Get (printf "files/%s" (index . 1))
  | replace "open-cluster-management-hub" $root.Release.Namespace
  | replace "cluster-manager-work-controller" "work-rollback"
  | replace "cluster-manager-work" "work-rollback"
  | replace "work-controller-sa" "work-rollback"
  | replace "work-webhook-sa" "work-rollback-webhook"
  | replace "[\"work-rollback\", \"work-rollback\"]" "[\"work-controller-sa\", \"work-rollback\"]" }}
{{- end }}

{{/* Returns an affinity that spreads the pods with a label app over the nodes. The argument is the value of the label. */}}
{{- define "affinity" -}}
podAntiAffinity:
  preferredDuringSchedulingIgnoredDuringExecution:
  - weight: 100
    podAffinityTerm:
      topologyKey: kubernetes.io/hostname
      labelSelector:
        matchLabels:
          app: {{ . }}
{{- end }}

{{- define "imagePullSecrets" -}}
{{- with .Values.imagePullSecrets }}
imagePullSecrets:
{{- range . }}
- name: {{ . }}
{{- end }}
{{- end }}
{{- end }}

{{- define "securityContext" -}}
allowPrivilegeEscalation: false
capabilities:
  drop: ["ALL"]
privileged: false
runAsNonRoot: true
readOnlyRootFilesystem: true
seccompProfile:
  type: RuntimeDefault
{{- end }}

{{/*
Returns the PodDisruptionBudget of a Deployment with more than one replica, and its NetworkPolicy if policies are enabled. The argument is a
dict: root, the root context; name, the name of the Deployment; open, the ports for every address; metrics, the port of the metrics.
*/}}
{{- define "protection" -}}
{{- $policy := .root.Values.networkPolicy -}}
{{- if gt (int .root.Values.replicas) 1 }}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
spec:
  maxUnavailable: 1
  selector:
    matchLabels:
      app: {{ .name }}
{{- end }}
{{- if $policy.enabled }}
---
apiVersion: networking.k8s.io/v1
kind: NetworkPolicy
metadata:
  name: {{ .name }}
  namespace: {{ .root.Release.Namespace }}
spec:
  podSelector:
    matchLabels:
      app: {{ .name }}
  policyTypes: ["Ingress", "Egress"]
  ingress:
  {{- range .open }}
  # API servers usually run outside the pod network, where no selector matches them.
  - ports:
    - protocol: TCP
      port: {{ . }}
  {{- end }}
  # Metrics. Kubelets can reach the pods on their own nodes under any policy.
  - from:
    - namespaceSelector:
        matchLabels:
          kubernetes.io/metadata.name: {{ $policy.monitoringNamespace }}
    ports:
    - protocol: TCP
      port: {{ .metrics }}
  egress:
  # DNS. In some clusters, the DNS pods listen on port 5353.
  - ports:
    {{- range $port := list 53 5353 }}
    {{- range $protocol := list "UDP" "TCP" }}
    - protocol: {{ $protocol }}
      port: {{ $port }}
    {{- end }}
    {{- end }}
  - ports:
    {{- range $policy.egressPorts }}
    - protocol: TCP
      port: {{ . }}
    {{- end }}
{{- end }}
{{- end }}
