#!/usr/bin/env bash
# Pins requirements.in and requirements-dev.in anew.
set -euo pipefail
all=$(mktemp) dev=$(mktemp)
# what Debian 12 has: newer patch releases may install what it cannot
oldest=3.11.2
trap 'rm -f "$all" "$dev"' EXIT
uv pip compile --quiet --upgrade --python-version "$oldest" --no-header --no-annotate requirements.in -o "$all"
{
  echo "# Pinned by \`make lock\` from requirements.in. torch: its CPU or CUDA wheel is chosen by pip (docs/guides/install.md)."
  sort -f "$all"
  echo "torch==2.13.0"
} >requirements.txt
uv pip compile --quiet --upgrade --python-version "$oldest" --no-header --no-annotate requirements-dev.in -c "$all" -o "$dev"
{
  echo "# Pinned by \`make lock\` from requirements-dev.in; installed on top of requirements.txt."
  grep -vxFf "$all" "$dev" | sort -f
} >requirements-dev.txt
