# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app."""

from django.apps import AppConfig


class ExperimentsConfig(AppConfig):
    name = "mlhub.experiments"
    default_auto_field = "django.db.models.BigAutoField"
