# SPDX-License-Identifier: Apache-2.0
"""Where webhooks may go: public addresses by https, and what MLHUB_WEBHOOK_ALLOW names inside the site."""

from __future__ import annotations

from django.conf import settings

from mlhub.core.security.destinations import AllowedInside


def allowed_inside() -> AllowedInside:
    """The hosts and networks of the setting, as it is now."""
    return AllowedInside("MLHUB_WEBHOOK_ALLOW", tuple(settings.WEBHOOK_ALLOW))
