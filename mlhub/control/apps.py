# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app."""

from django.apps import AppConfig


class ControlConfig(AppConfig):
    name = "mlhub.control"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.control.monitoring.network_rates import network_rates_of
        from mlhub.control.monitoring.slowdowns import slowdowns_of
        from mlhub.control.rounds.readers_language import say_reason
        from mlhub.core.languages.reasons import reasons_are_said_by
        from mlhub.jobs.live import live_member_is

        reasons_are_said_by(say_reason)
        live_member_is("slowdown", lambda attempts: slowdowns_of({attempt.pk for attempt in attempts}))
        live_member_is("network", network_rates_of)
