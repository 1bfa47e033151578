# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app; an attempt that ends ends its recording in the same transaction."""

from django.apps import AppConfig


class MetricsConfig(AppConfig):
    name = "mlhub.metrics"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.jobs.execution.attempt_ends import attempt_closed
        from mlhub.metrics.profiling.profiles import end_recordings_of_attempt

        attempt_closed.connect(end_recordings_of_attempt, dispatch_uid="profiles")
