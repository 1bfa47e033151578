# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app, which has commands and no tables."""

from django.apps import AppConfig


class RecoveryConfig(AppConfig):
    name = "mlhub.recovery"
