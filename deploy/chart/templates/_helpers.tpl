{{/* A file of deploy/ for the hub of this chart. The call is a list of the root and the name of the file. */}}
{{- define "file" -}}
{{- $root := index . 0 -}}
{{ $root.Files.Get (printf "files/%s" (index . 1))
  | replace "open-cluster-management-hub" $root.Release.Namespace
  | replace "cluster-manager-work-controller" "work-rollback"
  | replace "cluster-manager-work" "work-rollback"
  | replace "work-controller-sa" "work-rollback" }}
{{- end }}
