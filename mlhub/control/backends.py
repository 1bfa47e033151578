# SPDX-License-Identifier: Apache-2.0
"""The backend that the settings name. To add one: its package, a line here; the contract suite covers it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import partial
from uuid import UUID

from django.conf import settings
from django.core.exceptions import ImproperlyConfigured

from mlhub.backends.local import LocalBackend, read_cluster
from mlhub.backends.protocol import Backend
from mlhub.control.enclosures import enclose
from mlhub.runtime.sandbox.group_plans import planned_group
from mlhub.tenants.models import Quota


def _local() -> Backend:
    cluster = read_cluster(settings.CLUSTER_FILE)
    enclosed = partial(enclose, is_network_open=settings.POD_NETWORK == "host")
    return LocalBackend(
        settings.MLHUB_HOME, cluster, lifeline=settings.LIFELINE, enclose=enclosed, plan_group=planned_group
    )


def _kubernetes() -> Backend:
    # its client is large: only who uses it pays for the import
    from mlhub.backends.kubernetes.backend import KubernetesBackend
    from mlhub.backends.kubernetes.options import KubernetesOptions

    return KubernetesBackend.connect(KubernetesOptions.from_settings(settings.KUBERNETES), gpu_limit_of=_gpu_limit)


def _gpu_limit(labels: Mapping[str, str]) -> int | None:
    """The GPUs that the project of a launch may hold by MLHub's own quota, which is its organisation's."""
    quota = Quota.objects.filter(organisation__projects=UUID(labels["project_id"])).first()
    return quota.max_gpus if quota is not None else None


BACKENDS: Mapping[str, Callable[[], Backend]] = {"local": _local, "kubernetes": _kubernetes}


def configured_backend() -> Backend:
    """Raises ImproperlyConfigured for an unknown name, ClusterFileError for a file that cannot be used."""
    make = BACKENDS.get(settings.BACKEND)
    if make is None:
        raise ImproperlyConfigured(f"MLHUB_BACKEND is {settings.BACKEND!r}; known: {', '.join(BACKENDS)}.")
    return make()
