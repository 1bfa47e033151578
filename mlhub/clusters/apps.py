# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app; connects what Celery workers report when they start."""

from django.apps import AppConfig


class ClustersConfig(AppConfig):
    name = "mlhub.clusters"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.clusters import worker_start  # noqa: F401
