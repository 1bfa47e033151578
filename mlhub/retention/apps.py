# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app, which has a task and no tables."""

from django.apps import AppConfig


class RetentionConfig(AppConfig):
    name = "mlhub.retention"
