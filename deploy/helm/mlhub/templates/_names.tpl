{{/* Names and labels that several templates share. */}}

{{- define "mlhub.name" -}}
{{- if contains "mlhub" .Release.Name }}{{ .Release.Name | trunc 40 | trimSuffix "-" }}{{ else }}{{ printf "%s-mlhub" (.Release.Name | trunc 34) }}{{ end }}
{{- end }}

{{- define "mlhub.selector" -}}
app.kubernetes.io/name: mlhub
app.kubernetes.io/instance: {{ .root.Release.Name }}
app.kubernetes.io/component: {{ .component }}
{{- end }}

{{- define "mlhub.labels" -}}
{{ include "mlhub.selector" . }}
app.kubernetes.io/managed-by: {{ .root.Release.Service }}
app.kubernetes.io/version: {{ .root.Chart.AppVersion | quote }}
helm.sh/chart: {{ .root.Chart.Name }}-{{ .root.Chart.Version }}
{{- end }}

{{/* The service account of the control loop, and the name of what the chart makes outside its namespace. */}}
{{- define "mlhub.account" -}}
{{- .Values.access.serviceAccount | default (include "mlhub.name" .) }}
{{- end }}

{{- define "mlhub.clusterName" -}}
{{- printf "%s-%s" (include "mlhub.name" .) .Release.Namespace }}
{{- end }}
