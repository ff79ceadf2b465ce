{{- define "type" -}}
{{- if and (markdownShouldRenderType .) (or .Members .EnumValues) }}
## {{ .Name }}
{{ with .SortedReferences }}
In: {{ range $i, $type := . }}{{ if $i }}, {{ end }}{{ markdownRenderTypeLink $type }}{{ end }}
{{ end }}
{{- if .Members }}
| field | meaning | default | allowed |
| --- | --- | --- | --- |
{{ range .Members -}}
| `{{ .Name }}`<br>{{ markdownRenderType .Type }} | {{ template "meaning" . }} | {{ with .Default }}`{{ . }}`{{ end }} | {{ template "allowed" . }} |
{{ end -}}
{{ end }}
{{- if .EnumValues }}
| value | meaning |
| --- | --- |
{{ range .EnumValues -}}
| `{{ .Name }}` | {{ $doc := .Doc | replace "\n" " " }}{{ regexReplaceAll "^[A-Za-z]+ means that | \\([RP][0-9]+[a-z]?\\)" $doc "" | trim }} |
{{ end -}}
{{ end -}}
{{ end -}}
{{- end -}}

{{- define "meaning" -}}
{{- if eq .Name "metadata" -}}
the object's metadata
{{- else -}}
{{ .Doc | replace "\n" " " | replace "|" "\\|" | replace "<" "&lt;" }}
{{- end -}}
{{- end -}}

{{- define "allowed" -}}
{{- $all := list -}}
{{- range .Validation }}{{ if not (or (hasPrefix "Required" .) (hasPrefix "Optional" .)) }}{{ $all = append $all (. | replace "|" "\\|") }}{{ end }}{{ end -}}
{{- join ", " $all -}}
{{- end -}}
