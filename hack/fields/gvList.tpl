{{- define "gvList" -}}
# Fields

`make generate` writes this page from [pkg/apis](../../pkg/apis/work/v1alpha1/types.go). For the CRD on your hub,
`kubectl explain mwrs.spec` prints the same.
{{ range . }}{{ range .SortedTypes }}{{ template "type" . }}{{ end }}{{ end -}}
{{- end -}}
