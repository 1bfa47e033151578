# SPDX-License-Identifier: Apache-2.0
"""Django's registration."""

from django.apps import AppConfig


class TrackingConfig(AppConfig):
    name = "mlhub.tracking"

    def ready(self) -> None:
        from mlhub.tracking.unlisted import connect

        connect()
