# What runs in a training pod: Python, torch, and the two rooms of MLHub that pods know. No Django, no server.
#   docker build -f deploy/images/runtime.Dockerfile -t mlhub-runtime:0.2.0 .
# The default torch wheel brings CUDA. For CPU clusters give pip the CPU wheels with --build-arg PIP_EXTRA_INDEX_URL=...

FROM python:3.11.14-slim-bookworm AS packages
ARG PIP_EXTRA_INDEX_URL=""
COPY requirements.txt /tmp/
RUN grep -E '^(torch|numpy|cryptography|cffi|pycparser|pyarrow|pillow|safetensors|h5py|filelock|fsspec|jinja2|markupsafe|mpmath|networkx|setuptools|sympy|typing-extensions|tensorboard|tensorboard-data-server|absl-py|grpcio|markdown|packaging|protobuf|pyseccomp|werkzeug)==' \
        /tmp/requirements.txt > /tmp/needed.txt \
    && python -m venv /opt/mlhub \
    && /opt/mlhub/bin/pip install --no-cache-dir -r /tmp/needed.txt

FROM python:3.11.14-slim-bookworm
RUN groupadd --gid 10001 mlhub && useradd --uid 10001 --gid 10001 --home-dir /mlhub/scratch --shell /usr/sbin/nologin mlhub
COPY --from=packages /opt/mlhub /opt/mlhub
COPY mlhub/__init__.py /srv/mlhub/mlhub/__init__.py
COPY mlhub/wire/ /srv/mlhub/mlhub/wire/
COPY mlhub/runtime/ /srv/mlhub/mlhub/runtime/
# no pod writes bytecode, since none may write here; torch and what it needs were compiled by pip
RUN /opt/mlhub/bin/python -m compileall -q /srv/mlhub
ENV PATH=/opt/mlhub/bin:$PATH PYTHONPATH=/srv/mlhub PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
CMD ["python", "-m", "mlhub.runtime"]
