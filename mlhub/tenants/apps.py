# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app."""

from django.apps import AppConfig


class TenantsConfig(AppConfig):
    name = "mlhub.tenants"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.core.api.names import COLLECTIONS, IN_ORGANISATION, NamedCollection
        from mlhub.tenants.api import schema  # noqa: F401 (drf-spectacular finds its extensions by import)
        from mlhub.tenants.models import Organisation, Project, Team
        from mlhub.tenants.sign_in.sign_ins import connect

        connect()
        COLLECTIONS["organisations"] = NamedCollection(Organisation)
        COLLECTIONS["teams"] = NamedCollection(Team, IN_ORGANISATION)
        COLLECTIONS["projects"] = NamedCollection(Project, IN_ORGANISATION)
