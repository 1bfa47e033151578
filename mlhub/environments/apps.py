# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app."""

from django.apps import AppConfig


class EnvironmentsConfig(AppConfig):
    name = "mlhub.environments"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.environments.unlisted import connect

        connect()
