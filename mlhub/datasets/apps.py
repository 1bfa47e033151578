# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app."""

from django.apps import AppConfig


class DatasetsConfig(AppConfig):
    name = "mlhub.datasets"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.core.api.names import COLLECTIONS, IN_PROJECT, NamedCollection
        from mlhub.datasets.models import Dataset

        COLLECTIONS["datasets"] = NamedCollection(Dataset, IN_PROJECT)
