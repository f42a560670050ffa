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
