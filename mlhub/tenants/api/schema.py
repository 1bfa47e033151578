# SPDX-License-Identifier: Apache-2.0
"""How the OpenAPI schema describes the two ways to authenticate."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from drf_spectacular.extensions import OpenApiAuthenticationExtension

if TYPE_CHECKING:
    from drf_spectacular.openapi import AutoSchema


class ApiTokenScheme(OpenApiAuthenticationExtension):
    target_class = "mlhub.tenants.sign_in.authentication.ApiTokenAuthentication"
    name = "token"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:  # noqa: ARG002
        return {"type": "http", "scheme": "bearer", "bearerFormat": "mlh_...", "description": "An API token."}


class SessionScheme(OpenApiAuthenticationExtension):
    target_class = "mlhub.tenants.sign_in.authentication.SessionAuthentication"
    name = "session"

    def get_security_definition(self, auto_schema: AutoSchema) -> dict[str, Any]:  # noqa: ARG002
        return {
            "type": "apiKey",
            "in": "cookie",
            "name": settings.SESSION_COOKIE_NAME,
            "description": "POST /auth/login; writes need the cookie csrftoken as X-CSRFToken.",
        }
