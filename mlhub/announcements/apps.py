# SPDX-License-Identifier: Apache-2.0
"""Django's registration."""

from django.apps import AppConfig


class AnnouncementsConfig(AppConfig):
    name = "mlhub.announcements"
