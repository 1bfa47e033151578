{{/* Which secrets each process gets, and from which Secret. Nothing else may name a key of a Secret. */}}

{{/* process: keys. A process that is not named here gets none. "docs/guides/kubernetes.md" has the reasons. */}}
{{- define "mlhub.secretsOf" -}}
web: [MLHUB_SECRET_KEY, MLHUB_SECRET_KEY_FALLBACKS, DATABASE_URL, REDIS_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, MLHUB_METRICS_TOKEN, MLHUB_EMAIL_URL, MLHUB_OIDC_CLIENT_SECRET]
worker: [DATABASE_URL, REDIS_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY]
sender: [MLHUB_SECRET_KEY, MLHUB_SECRET_KEY_FALLBACKS, DATABASE_URL, REDIS_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, MLHUB_EMAIL_URL]
beat: [REDIS_URL]
control: [MLHUB_SECRET_KEY, MLHUB_SECRET_KEY_FALLBACKS, DATABASE_URL, REDIS_URL]
migrate: [DATABASE_URL]
backup: [MLHUB_SECRET_KEY, MLHUB_SECRET_KEY_FALLBACKS, DATABASE_URL, AWS_ACCESS_KEY_ID, AWS_SECRET_ACCESS_KEY, MLHUB_METRICS_TOKEN]
schema: [DATABASE_URL]
postgres: [POSTGRES_PASSWORD]
valkey: [VALKEY_PASSWORD]
{{- end }}

{{/* key: the section of the values that it belongs to. */}}
{{- define "mlhub.sectionsOfSecrets" -}}
MLHUB_SECRET_KEY: secret
MLHUB_SECRET_KEY_FALLBACKS: secret
MLHUB_EMAIL_URL: secret
MLHUB_OIDC_CLIENT_SECRET: secret
DATABASE_URL: database
POSTGRES_PASSWORD: database
REDIS_URL: redis
VALKEY_PASSWORD: redis
AWS_ACCESS_KEY_ID: store
AWS_SECRET_ACCESS_KEY: store
MLHUB_METRICS_TOKEN: metrics
{{- end }}

{{/* The Secret that has a key: of its section, or of all, or the chart's own. root, key */}}
{{- define "mlhub.secretWith" -}}
{{- $section := get (include "mlhub.sectionsOfSecrets" . | fromYaml) .key }}
{{- $own := get (get .root.Values $section) "existingSecret" }}
{{- $own | default .root.Values.secret.existing | default (include "mlhub.name" .root) }}
{{- end }}

{{/* Whether the chart's own Secret has the keys of a section. root, section */}}
{{- define "mlhub.ownsSecretsOf" -}}
{{- if not (or (get (get .root.Values .section) "existingSecret") .root.Values.secret.existing) }}yes{{ end }}
{{- end }}

{{/* A process's secrets as variables. root, process */}}
{{- define "mlhub.secretVariables" -}}
{{- $keys := get (include "mlhub.secretsOf" . | fromYaml) .process }}
{{- $optional := list "MLHUB_SECRET_KEY_FALLBACKS" "AWS_ACCESS_KEY_ID" "AWS_SECRET_ACCESS_KEY" "MLHUB_METRICS_TOKEN" "MLHUB_EMAIL_URL" "MLHUB_OIDC_CLIENT_SECRET" }}
{{- range $keys }}
- name: {{ . }}
  valueFrom:
    secretKeyRef:
      name: {{ include "mlhub.secretWith" (dict "root" $.root "key" .) }}
      key: {{ . }}
      {{- if has . $optional }}
      optional: true
      {{- end }}
{{- end }}
{{- end }}
