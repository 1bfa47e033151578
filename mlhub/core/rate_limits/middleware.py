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
from mlhub.core.rate_limits.refusals import Refusals
from mlhub.core.rate_limits.requests import VERDICT, charge_address

if TYPE_CHECKING:
    from django.http import HttpRequest, HttpResponse
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


IS_REPEATED = "is_repeated_refusal"
REFUSED_FOR = "refused_for"  # the error of a request for which there was no room, set before the middleware
SIGN_IN = "/auth/login"  # refused by name and address, not by whose session the browser happens to have
refusals = Refusals()


class RateLimitMiddleware(MiddlewareMixin):
    """Answers 401 become 429 once their address has sent too many; charged requests get the headers.

    It stands before sessions and tokens are looked up, so that a refusal that still holds costs next to nothing.
    """

    def process_request(self, request: HttpRequest) -> HttpResponse | None:
        if not request.path.startswith(API_PREFIX):
            return None
        if (no_room := getattr(request, REFUSED_FOR, None)) is not None:
            return problem_of(no_room)
        error = refusals.error_for(request)
        if error is None:
            return None
        setattr(request, IS_REPEATED, True)
        return problem_of(error)

    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        if not request.path.startswith(API_PREFIX):
            return response
        if response.status_code == 401:
            response = _charged_to_address(request, response)
        verdict = getattr(request, VERDICT, None)
        if response.status_code == 429 and not hasattr(request, IS_REPEATED) and SIGN_IN not in request.path:
            refusals.remember(request, retry_after_s=float(response.get("Retry-After", "0")))
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
