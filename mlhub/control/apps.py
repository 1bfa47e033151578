# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app."""

from django.apps import AppConfig


class ControlConfig(AppConfig):
    name = "mlhub.control"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.control.rounds.readers_language import say_reason
        from mlhub.core.languages.reasons import reasons_are_said_by

        reasons_are_said_by(say_reason)
