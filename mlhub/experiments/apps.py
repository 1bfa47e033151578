# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app."""

from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    name = "mlhub.experiments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.core.api.names import COLLECTIONS, IN_PROJECT, NamedCollection
        from mlhub.experiments.models import Study

        COLLECTIONS["studies"] = NamedCollection(Study, IN_PROJECT)
