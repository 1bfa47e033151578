# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app."""

from django.apps import AppConfig


class RegistryConfig(AppConfig):
    name = "mlhub.registry"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.core.api.names import COLLECTIONS, IN_PROJECT, NamedCollection
        from mlhub.registry.models import Model

        COLLECTIONS["models"] = NamedCollection(Model, IN_PROJECT)
