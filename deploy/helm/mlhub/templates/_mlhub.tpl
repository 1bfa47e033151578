{{/* Words that several templates share. */}}

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

{{- define "mlhub.secret" -}}
{{- .Values.secret.existing | default (include "mlhub.name" .) }}
{{- end }}

{{- define "mlhub.podSecurity" -}}
runAsNonRoot: true
runAsUser: {{ .user }}
runAsGroup: {{ .user }}
fsGroup: {{ .user }}
fsGroupChangePolicy: OnRootMismatch
seccompProfile: {type: RuntimeDefault}
{{- end }}

{{- define "mlhub.containerSecurity" -}}
allowPrivilegeEscalation: false
readOnlyRootFilesystem: true
capabilities: {drop: [ALL]}
{{- end }}

{{/* The pod of one of MLHub's own processes: root, component, command, resources, account, probes. */}}
{{- define "mlhub.pod" -}}
metadata:
  labels:
    {{- include "mlhub.selector" . | nindent 4 }}
  annotations:
    checksum/config: {{ include (print .root.Template.BasePath "/config.yaml") .root | sha256sum }}
spec:
  {{- if .account }}
  serviceAccountName: {{ include "mlhub.account" .root }}
  {{- else }}
  automountServiceAccountToken: false
  {{- end }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: 60
  {{- if .restartPolicy }}
  restartPolicy: {{ .restartPolicy }}
  {{- end }}
  {{- with .root.Values.image.pullSecret }}
  imagePullSecrets: [{name: {{ . | quote }}}]
  {{- end }}
  securityContext:
    {{- include "mlhub.podSecurity" (dict "user" 10001) | nindent 4 }}
  containers:
    - name: {{ .component }}
      image: {{ .root.Values.image.server | quote }}
      imagePullPolicy: {{ .root.Values.image.pullPolicy }}
      command: {{ toJson .command }}
      envFrom:
        - configMapRef: {name: {{ include "mlhub.name" .root }}}
        - secretRef: {name: {{ include "mlhub.secret" .root }}}
      {{- if eq .component "web" }}
      env: [{name: MLHUB_POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}]
      ports: [{name: http, containerPort: 8000}]
      startupProbe:
        httpGet: {path: /healthz, port: http, httpHeaders: [{name: Host, value: localhost}]}
        periodSeconds: 3
        failureThreshold: 40
      readinessProbe:
        httpGet: {path: /readyz, port: http, httpHeaders: [{name: Host, value: localhost}]}
        periodSeconds: 5
        timeoutSeconds: 3
      livenessProbe:
        httpGet: {path: /healthz, port: http, httpHeaders: [{name: Host, value: localhost}]}
        periodSeconds: 10
        timeoutSeconds: 5
      {{- end }}
      resources:
        {{- toYaml .resources | nindent 8 }}
      securityContext:
        {{- include "mlhub.containerSecurity" . | nindent 8 }}
      volumeMounts:
        - {name: state, mountPath: /var/lib/mlhub}
        - {name: tmp, mountPath: /tmp}
  volumes:
    - name: state
      persistentVolumeClaim: {claimName: {{ .root.Values.state.existingClaim | default (printf "%s-state" (include "mlhub.name" .root)) }}}
    - name: tmp
      emptyDir: {sizeLimit: 5Gi}
{{- end }}
