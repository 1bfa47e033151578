# SPDX-License-Identifier: Apache-2.0
"""The backend that the settings name. To add one: its package, a line here; the contract suite covers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from functools import partial
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from mlhub._installation import default_cluster_file
from mlhub.agent.enclosures import enclose
from mlhub.agent.warm_workers import warm_pool
from mlhub.backends.agents.backend import AgentsBackend
from mlhub.backends.local import LocalBackend, LocalCluster, read_cluster, workstation
from mlhub.backends.local.gpu_driver import GpuDriver, nvml_driver
from mlhub.backends.local.gpus import LocalGpus
from mlhub.backends.local.notebooks import notebook_socket as local_notebook_socket
from mlhub.backends.protocol import Backend
from mlhub.control.agents.rows import AgentRows
from mlhub.runtime.sandbox.group_plans import planned_group
from mlhub.tenants.actions import gpu_limit_of
from mlhub.tenants.models import Organisation


def _local() -> Backend:
    driver = None if settings.GPUS == "none" else nvml_driver()
    cluster = _local_cluster(driver)
    gpus = LocalGpus(settings.MLHUB_HOME, driver, cluster.gpus) if driver is not None and cluster.gpus else None
    enclosed = partial(enclose, is_network_open=settings.POD_NETWORK == "host")
    return LocalBackend(
        settings.MLHUB_HOME,
        cluster,
        lifeline=settings.LIFELINE,
        enclose=enclosed,
        gpus=gpus,
        plan_group=planned_group,
        warm=warm_pool(settings.MLHUB_HOME, settings.WARM_WORKERS),
        pod_disk_bytes=settings.POD_DISK_BYTES,
    )


def _local_cluster(driver: GpuDriver | None) -> LocalCluster:
    """The cluster file that was given; where there is none, this machine's GPUs, else the default virtual cluster."""
    readings = driver.read() if driver is not None else ()
    if readings and default_cluster_file() == settings.CLUSTER_FILE:
        return workstation(readings, jobs_per_gpu=settings.JOBS_PER_GPU)
    return read_cluster(settings.CLUSTER_FILE, readings)


def _agents() -> Backend:
    return AgentsBackend(AgentRows(), lost_after_s=settings.AGENT_LOST_S)


def _kubernetes() -> Backend:
    # its client is large: only who uses it pays for the import
    from mlhub.backends.kubernetes.backend import KubernetesBackend
    from mlhub.backends.kubernetes.options import KubernetesOptions

    return KubernetesBackend.connect(KubernetesOptions.from_settings(settings.KUBERNETES), gpu_limit_of=_gpu_limit)


def _gpu_limit(labels: Mapping[str, str]) -> int | None:
    """The GPUs that the project of a launch may hold by MLHub's own quota, which is its organisation's."""
    organisation = Organisation.objects.filter(projects=UUID(labels["project_id"])).first()
    return gpu_limit_of(organisation) if organisation is not None else None


def notebook_socket(attempt_id: str) -> AbstractContextManager[str]:
    """A path to connect to the server of a notebook's pod, while the block lasts. Its __enter__ raises OSError."""
    return local_notebook_socket(settings.MLHUB_HOME, attempt_id)


BACKENDS: Mapping[str, Callable[[], Backend]] = {"local": _local, "agents": _agents, "kubernetes": _kubernetes}


def configured_backend() -> Backend:
    """Raises ImproperlyConfigured for an unknown name, ClusterFileError for a file that cannot be used."""
    make = BACKENDS.get(settings.BACKEND)
    if make is None:
        raise ImproperlyConfigured(f"MLHUB_BACKEND is {settings.BACKEND!r}; known: {', '.join(BACKENDS)}.")
    return make()
