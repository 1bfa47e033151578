# SPDX-License-Identifier: Apache-2.0
"""The headers by which an answer says what is left, and 429 for addresses that send too many wrong credentials.

RateLimit-Policy and RateLimit are those of the IETF draft "RateLimit header fields for HTTP" (httpapi working group).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from django.utils.deprecation import MiddlewareMixin

from mlhub.core.api.operations import API_PREFIX
from mlhub.core.errors import RateLimitedError
from mlhub.core.problems import problem_of
from mlhub.core.rate_limits.requests import VERDICT, charge_address

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase

    from mlhub.core.rate_limits.limiter import RateLimitVerdict


def rate_limit_headers(verdict: RateLimitVerdict) -> dict[str, str]:
    """RateLimit-Policy: quota (q) and window in seconds (w) of each limit. RateLimit: requests left (r), and seconds
    until the quota is whole again (t)."""
    if not verdict.states:
        return {}
    policies = (f'"{s.limit.name}";q={s.quota};w={s.limit.window_s}' for s in verdict.states)
    left = (f'"{s.limit.name}";r={s.remaining};t={s.reset_s}' for s in verdict.states)
    return {"RateLimit-Policy": ", ".join(policies), "RateLimit": ", ".join(left)}


class RateLimitMiddleware(MiddlewareMixin):
    """Answers 401 become 429 once their address has sent too many; charged requests get the headers."""

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not request.path.startswith(API_PREFIX):
            return response
        if response.status_code == 401:
            response = _charged_to_address(request, response)
        verdict = getattr(request, VERDICT, None)
        if verdict is not None:
            for name, value in rate_limit_headers(verdict).items():
                response[name] = value
        return response


def _charged_to_address(request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
    try:
        charge_address(request)
    except RateLimitedError as error:
        return problem_of(error)
    return response
