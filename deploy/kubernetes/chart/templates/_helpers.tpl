{{- define "m40.labels" -}}
app.kubernetes.io/name: m40
app.kubernetes.io/instance: {{ .Release.Name }}
{{- end }}

{{- define "m40.claim" -}}
{{ .Values.models.existingClaim | default (printf "%s-models" .Release.Name) }}
{{- end }}

{{- define "m40.security" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities:
  drop: [ALL]
{{- end }}

{{/* "yes" where a GPU is asked for, and no argument names the device. */}}
{{- define "m40.wantsGpu" -}}
{{- $gpu := false }}
{{- range $name, $count := (.Values.resources).limits }}
{{- if and (hasPrefix "nvidia.com/" $name) (gt (int $count) 0) }}{{ $gpu = true }}{{ end }}
{{- end }}
{{- range .Values.args }}
{{- if eq (toString . | splitList "=" | first) "--device" }}{{ $gpu = false }}{{ end }}
{{- end }}
{{- if $gpu }}yes{{ end }}
{{- end }}
