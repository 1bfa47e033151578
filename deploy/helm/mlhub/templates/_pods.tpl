{{/* Pods: what all of them have, and those of MLHub's own processes. */}}

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

{{/* Labels and annotations of a pod. root, component, section: of the values */}}
{{- define "mlhub.podMetadata" -}}
labels:
  {{- include "mlhub.selector" . | nindent 2 }}
  {{- with merge (dict) (.section.labels | default dict) .root.Values.pods.labels }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
annotations:
  {{- if has .component (list "postgres" "valkey") }}
  checksum/password: {{ .section.password | sha256sum }}
  {{- else }}
  checksum/config: {{ print (include (print .root.Template.BasePath "/config.yaml") .root) (include (print .root.Template.BasePath "/secret.yaml") .root) | sha256sum }}
  {{- end }}
  {{- with merge (dict) (.section.annotations | default dict) .root.Values.pods.annotations }}
  {{- toYaml . | nindent 2 }}
  {{- end }}
{{- end }}

{{/* Where a pod may be, and how important it is. root, component, section */}}
{{- define "mlhub.scheduling" -}}
{{- $all := .root.Values.pods }}
{{- with merge (dict) (.section.nodeSelector | default dict) $all.nodeSelector }}
nodeSelector: {{ toJson . }}
{{- end }}
{{- with .section.tolerations | default $all.tolerations }}
tolerations: {{ toJson . }}
{{- end }}
{{- with .section.affinity | default $all.affinity }}
affinity: {{ toJson . }}
{{- end }}
{{- with .section.topologySpreadConstraints | default $all.topologySpreadConstraints }}
topologySpreadConstraints:
  {{- range . }}
  - {{ merge (dict) . (dict "labelSelector" (dict "matchLabels" (include "mlhub.selector" $ | fromYaml))) | toJson }}
  {{- end }}
{{- end }}
{{- with .section.priorityClassName | default $all.priorityClassName }}
priorityClassName: {{ . | quote }}
{{- end }}
{{- with .root.Values.image.pullSecret }}
imagePullSecrets: [{name: {{ . | quote }}}]
{{- end }}
{{- end }}

{{/* Additions of the values. root, section, key: extraEnv, extraVolumes or extraVolumeMounts */}}
{{- define "mlhub.extra" -}}
{{- with concat (get .root.Values.pods .key) (get .section .key | default list) }}
{{- toYaml . }}
{{- end }}
{{- end }}

{{/* A container of the server image. root, component, section, name, process, command */}}
{{- define "mlhub.serverContainer" -}}
name: {{ .name }}
image: {{ .root.Values.image.server | quote }}
imagePullPolicy: {{ .root.Values.image.pullPolicy }}
command: {{ toJson .command }}
envFrom: [{configMapRef: {name: {{ include "mlhub.name" .root }}}}]
env:
  {{- include "mlhub.secretVariables" . | nindent 2 }}
  {{- if eq .process "web" }}
  - {name: MLHUB_POD_IP, valueFrom: {fieldRef: {fieldPath: status.podIP}}}
  {{- else }}
  - {name: MLHUB_HEARTBEAT_FILE, value: /tmp/mlhub-heartbeat}
  {{- end }}
  {{- include "mlhub.extra" (dict "root" .root "section" .section "key" "extraEnv") | nindent 2 }}
resources:
  {{- toYaml .section.resources | nindent 2 }}
securityContext:
  {{- include "mlhub.containerSecurity" . | nindent 2 }}
volumeMounts:
  - {name: home, mountPath: /var/lib/mlhub}
  - {name: tmp, mountPath: /tmp}
  {{- include "mlhub.extra" (dict "root" .root "section" .section "key" "extraVolumeMounts") | nindent 2 }}
{{- end }}

{{- define "mlhub.probes" -}}
{{- if eq .component "web" }}
{{- $get := dict "port" "http" "httpHeaders" (list (dict "name" "Host" "value" "localhost")) }}
ports: [{name: http, containerPort: 8000}]
startupProbe: {httpGet: {{ merge (dict "path" "/healthz") $get | toJson }}, periodSeconds: 3, failureThreshold: 100}
readinessProbe: {httpGet: {{ merge (dict "path" "/readyz") $get | toJson }}, periodSeconds: 5, timeoutSeconds: 3}
livenessProbe: {httpGet: {{ merge (dict "path" "/healthz") $get | toJson }}, periodSeconds: 10, timeoutSeconds: 5}
{{- else if not (has .component (list "migrate" "backup")) }}
{{- $ask := list "python" "-m" "mlhub.core.heartbeat" "--max-age-s" }}
startupProbe: {exec: {command: {{ append $ask "60" | toJson }}}, periodSeconds: 5, timeoutSeconds: 5, failureThreshold: 60}
readinessProbe: {exec: {command: {{ append $ask "120" | toJson }}}, periodSeconds: 20, timeoutSeconds: 5}
# a hung process is restarted; a database or broker that is away for less than ten minutes is waited for
livenessProbe: {exec: {command: {{ append $ask "600" | toJson }}}, periodSeconds: 60, timeoutSeconds: 5, failureThreshold: 2}
{{- end }}
{{- end }}

{{/* The pod of one of MLHub's own processes. root, component, section, command; account: it speaks to the API server;
state: it reads and writes uploads; waits: for the schema; scratch: size of its own disk; restartPolicy */}}
{{- define "mlhub.pod" -}}
metadata:
  {{- include "mlhub.podMetadata" . | nindent 2 }}
spec:
  {{- if .account }}
  serviceAccountName: {{ include "mlhub.account" .root }}
  {{- else }}
  {{- if and .state .root.Values.store.serviceAccount }}
  serviceAccountName: {{ .root.Values.store.serviceAccount | quote }}
  {{- end }}
  automountServiceAccountToken: false
  {{- end }}
  enableServiceLinks: false
  terminationGracePeriodSeconds: 60
  {{- with .restartPolicy }}
  restartPolicy: {{ . }}
  {{- end }}
  {{- include "mlhub.scheduling" . | nindent 2 }}
  securityContext:
    {{- include "mlhub.podSecurity" (dict "user" 10001) | nindent 4 }}
  {{- if .waits }}
  initContainers:
    - {{- include "mlhub.serverContainer" (merge (dict "name" "schema" "process" "schema" "command" (list "python" "manage.py" "schema" "wait")) .) | nindent 6 }}
  {{- end }}
  containers:
    - {{- include "mlhub.serverContainer" (merge (dict "name" .component "process" .component) .) | nindent 6 }}
      {{- include "mlhub.probes" . | nindent 6 }}
  volumes:
    {{- if and .state (not .root.Values.store.address) }}
    - name: home
      persistentVolumeClaim: {claimName: {{ .root.Values.state.existingClaim | default (printf "%s-state" (include "mlhub.name" .root)) }}}
    {{- else }}
    - {name: home, emptyDir: {sizeLimit: {{ .scratch | default "1Gi" }}}}
    {{- end }}
    - {name: tmp, emptyDir: {sizeLimit: 5Gi}}
    {{- include "mlhub.extra" (dict "root" .root "section" .section "key" "extraVolumes") | nindent 4 }}
{{- end }}
