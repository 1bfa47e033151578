# SPDX-License-Identifier: Apache-2.0
"""Django's registration of this app, which removes what is not kept."""

from django.apps import AppConfig


class RetentionConfig(AppConfig):
    name = "mlhub.retention"
    default_auto_field = "django.db.models.BigAutoField"

    def ready(self) -> None:
        from mlhub.retention.organisation_deletions import require_no_deletion
        from mlhub.tenants.parts import OPENING_CHECKS

        OPENING_CHECKS.append(require_no_deletion)
