#!/usr/bin/env bash
# Fails when the committed OpenAPI schema, the dashboard's types or the Python client are not those of the code.
set -euo pipefail
fresh=$(mktemp -d)
trap 'rm -rf "$fresh"' EXIT
python manage.py spectacular --validate --fail-on-warn --file "$fresh/openapi.yaml"
(cd frontend && npx --no-install openapi-typescript "$fresh/openapi.yaml" -o "$fresh/schema.d.ts" >/dev/null)
diff -q "$fresh/openapi.yaml" frontend/openapi.yaml && diff -q "$fresh/schema.d.ts" frontend/src/api/schema.d.ts || {
  echo "The API changed. Run: make schema"
  exit 1
}
python deploy/client/generate.py --check
