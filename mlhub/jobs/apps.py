# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app."""

from django.apps import AppConfig


class JobsConfig(AppConfig):
    name = "mlhub.jobs"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.core.api.names import COLLECTIONS, IN_PROJECT, NamedCollection
        from mlhub.jobs.models import Job

        COLLECTIONS["jobs"] = NamedCollection(Job, IN_PROJECT)
