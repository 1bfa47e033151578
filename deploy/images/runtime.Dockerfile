# What runs in a training pod: Python, torch, and the two rooms of MLHub that pods know. No Django, no server.
#   docker build -f deploy/images/runtime.Dockerfile -t mlhub-runtime:0.2.0 .
# --build-arg TORCH=cuda (torch's default wheel, with CUDA), or cpu: without, a tenth of the size, for CPU clusters
# --build-arg PACKAGES=base, or full: also the packages of full.txt, which model code and scripts may import then
# Wheels from elsewhere, such as ROCm's: --build-arg PIP_EXTRA_INDEX_URL=...

FROM python:3.11.14-slim-bookworm AS packages
ARG PIP_EXTRA_INDEX_URL=""
ARG TORCH=cuda
ARG PACKAGES=base
COPY requirements.txt deploy/images/full.txt /tmp/
RUN grep -E '^(torch|numpy|cryptography|cffi|pycparser|pyarrow|pillow|safetensors|h5py|filelock|fsspec|jinja2|markupsafe|mpmath|networkx|setuptools|sympy|typing-extensions|tensorboard|tensorboard-data-server|absl-py|grpcio|markdown|packaging|protobuf|pyseccomp|soundfile|werkzeug)==' \
        /tmp/requirements.txt > /tmp/needed.txt \
    && case "$TORCH" in \
        cuda) index="" ;; \
        cpu) index="--extra-index-url https://download.pytorch.org/whl/cpu" ;; \
        *) echo "TORCH is $TORCH; known: cuda, cpu" >&2; exit 1 ;; \
    esac \
    && case "$PACKAGES" in \
        base) ;; \
        full) cat /tmp/full.txt >> /tmp/needed.txt ;; \
        *) echo "PACKAGES is $PACKAGES; known: base, full" >&2; exit 1 ;; \
    esac \
    && python -m venv /opt/mlhub \
    && /opt/mlhub/bin/pip install --no-cache-dir $index -r /tmp/needed.txt

FROM python:3.11.14-slim-bookworm
RUN groupadd --gid 10001 mlhub && useradd --uid 10001 --gid 10001 --home-dir /mlhub/scratch --shell /usr/sbin/nologin mlhub
COPY --from=packages /opt/mlhub /opt/mlhub
# _version.py: images that are built FROM this one must be of the platform's version
COPY mlhub/__init__.py mlhub/_version.py /srv/mlhub/mlhub/
COPY mlhub/wire/ /srv/mlhub/mlhub/wire/
COPY mlhub/runtime/ /srv/mlhub/mlhub/runtime/
# no pod writes bytecode, since none may write here; torch and what it needs were compiled by pip
RUN /opt/mlhub/bin/python -m compileall -q /srv/mlhub
ENV PATH=/opt/mlhub/bin:$PATH PYTHONPATH=/srv/mlhub PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1
USER 10001:10001
CMD ["python", "-m", "mlhub.runtime"]
