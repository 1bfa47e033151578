# SPDX-License-Identifier: Apache-2.0
"""Django's error pages for the API: problem documents for addresses, hosts, forms and faults that no view answers."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

from django.views import csrf, defaults

from mlhub.core.api.operations import API_PREFIX
from mlhub.core.problems import problem, unexpected_problem

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponseBase


def bad_request(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    if not request.path.startswith(API_PREFIX):
        return defaults.bad_request(request, exception)
    return problem(400, "bad_request", "The request is malformed, or too large.")


def permission_denied(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    if not request.path.startswith(API_PREFIX):
        return defaults.permission_denied(request, exception)
    return problem(403, "permission_denied", "You may not do this.")


def csrf_failure(request: HttpRequest, reason: str = "") -> HttpResponseBase:
    if not request.path.startswith(API_PREFIX):
        return csrf.csrf_failure(request, reason=reason)
    remedy = "GET /api/v1/auth/csrf, and send the cookie csrftoken as the header X-CSRFToken."
    return problem(403, "csrf_failed", reason or "The CSRF token is missing or wrong.", remedy=remedy)


def not_found(request: HttpRequest, exception: Exception) -> HttpResponseBase:
    if not request.path.startswith(API_PREFIX):
        return defaults.page_not_found(request, exception)
    return problem(404, "not_found", f"The API has no address {request.path[:200]}.", remedy="See /api/v1/docs.")


def server_error(request: HttpRequest, *_: Any) -> HttpResponseBase:
    """The log has the traceback under the id that the client is given."""
    if not request.path.startswith(API_PREFIX):
        return defaults.server_error(request)
    return unexpected_problem(sys.exc_info()[1], where=f"{request.method} {request.path[:200]}")
