{{/* Returns a file of deploy/ with the names of this chart's hub. The argument is a list: the root context and the name of the file. */}}
{{- define "file" -}}
{{- $root := index . 0 -}}
{{ $root.Files.Get (printf "files/%s" (index . 1))
  | replace "open-cluster-management-hub" $root.Release.Namespace
  | replace "cluster-manager-work-controller" "work-rollback"
  | replace "cluster-manager-work" "work-rollback"
  | replace "work-controller-sa" "work-rollback" }}
{{- end }}
