{{/* Returns a file of deploy/ with the names of this chart's hub. The argument is a list: the root context and the name of the file. */}}
{{- define "file" -}}
{{- $root := index . 0 -}}
{{ $root.Files.Get (printf "files/%s" (index . 1))
  | replace "open-cluster-management-hub" $root.Release.Namespace
  | replace "cluster-manager-work-controller" "work-rollback"
  | replace "cluster-manager-work" "work-rollback"
  | replace "work-controller-sa" "work-rollback"
  | replace "work-webhook-sa" "work-rollback-webhook" }}
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
imagePullSecrets: {{- if not .Values.imagePullSecrets }} []{{ end }}
{{- range .Values.imagePullSecrets }}
- name: {{ . }}
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
