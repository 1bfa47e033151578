# SPDX-License-Identifier: Apache-2.0
"""What all routes of the MLflow protocol share: who asks, rate limits, and errors in MLflow's own form.

The routes are MLflow's, not of this platform's own API: they are left out of its schema.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, ClassVar

from django.conf import settings
from django.http import JsonResponse
from rest_framework import exceptions
from rest_framework.authentication import BaseAuthentication
from rest_framework.throttling import BaseThrottle
from rest_framework.views import APIView, set_rollback

from mlhub.core import errors
from mlhub.core.problems import describe
from mlhub.core.rate_limits.buckets import Charge
from mlhub.core.rate_limits.requests import charge_request
from mlhub.jobs.execution.credentials import attempt_of_tracking_token
from mlhub.jobs.models import Attempt
from mlhub.tenants.access_control.permissions import IsAuthenticatedInScope
from mlhub.tenants.models import User
from mlhub.tenants.sign_in.authentication import ApiTokenAuthentication
from mlhub.tenants.sign_in.rate_limits import RequestThrottle
from mlhub.tracking.access import Caller

if TYPE_CHECKING:
    from rest_framework.request import Request

TRACKING = "tracking"  # the budget of requests that log
# MLflow's error codes by ours; any other follows from the status
ERROR_CODES = {
    "name_taken": "RESOURCE_ALREADY_EXISTS",
    "no_route": "ENDPOINT_NOT_FOUND",
}
OF_STATUS = {
    400: "BAD_REQUEST", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED", 404: "RESOURCE_DOES_NOT_EXIST",
    405: "ENDPOINT_NOT_FOUND", 409: "INVALID_STATE", 410: "INVALID_STATE", 413: "INVALID_PARAMETER_VALUE",
    422: "INVALID_PARAMETER_VALUE", 429: "REQUEST_LIMIT_EXCEEDED", 503: "TEMPORARILY_UNAVAILABLE",
}  # fmt: skip
CLIENT_ERROR = 400  # clients retry 408, 409 of some stores, 429 and 5xx: what cannot succeed must be none of those
FINAL = (409, 410, 413, 422)


class AttemptAuthentication(BaseAuthentication):
    """The tracking credential of the attempt that the address names."""

    def authenticate(self, request: Request) -> tuple[User, Attempt]:
        scheme, _, token = request.headers.get("Authorization", "").partition(" ")
        attempt_id = request.parser_context["kwargs"]["attempt_id"]
        found = attempt_of_tracking_token(attempt_id, token) if scheme.lower() == "bearer" else None
        if found is None:
            raise exceptions.AuthenticationFailed("The token is not this attempt's.")
        return found.job.created_by, found

    def authenticate_header(self, request: Request) -> str:  # noqa: ARG002 (DRF's signature)
        return "Bearer"


class TrackingThrottle(BaseThrottle):
    """Charges pods to their attempt, by their number, and people as everywhere."""

    def allow_request(self, request: Request, view: APIView) -> bool:
        if isinstance(request.auth, Attempt):
            n_pods = request.auth.n_workers + request.auth.n_servers
            limits = [limit for limit in settings.RATE_LIMITS.get(TRACKING, ()) if limit.subject == "pod"]
            charge_request(request._request, [Charge(limit, str(request.auth.pk), weight=n_pods) for limit in limits])
            return True
        return RequestThrottle().allow_request(request, view)


class ProtocolView(APIView):
    """A route of the protocol. Writes need a token with the scope submit; a search by POST declares read."""

    schema = None
    permission_classes = [IsAuthenticatedInScope]
    throttle_classes = [TrackingThrottle]
    rate_limit_budgets: ClassVar[dict[str, str]] = dict.fromkeys(("POST", "PUT", "PATCH", "DELETE"), TRACKING)

    def get_authenticators(self) -> list[BaseAuthentication]:
        return [AttemptAuthentication()] if "attempt_id" in self.kwargs else [ApiTokenAuthentication()]

    def get_exception_handler(self) -> Any:
        return answer_error

    @property
    def caller(self) -> Caller:
        auth, user = self.request.auth, self.request.user
        assert isinstance(user, User)
        return Caller(user, auth if isinstance(auth, Attempt) else None)


def answer_error(exception: Exception, context: dict[str, Any]) -> JsonResponse | None:  # noqa: ARG001 (DRF's)
    """error_code and message; anything unexpected goes on to Django's handler500."""
    described = describe(exception)
    if described is None:
        return None
    status, body, headers = described
    set_rollback()
    code = ERROR_CODES.get(body["code"]) or OF_STATUS.get(status, "INTERNAL_ERROR")
    if isinstance(exception, errors.QuotaExceededError):
        code = "RESOURCE_EXHAUSTED"
    words = " ".join(filter(None, (str(body["detail"]), str(body.get("remedy", "")))))
    answered = CLIENT_ERROR if status in FINAL else status
    return JsonResponse({"error_code": code, "message": words}, status=answered, headers=headers)


def fields_of(request: Request) -> Mapping[str, Any]:
    """The JSON object of a body. Raises InvalidInputError."""
    found = request.data
    if not isinstance(found, Mapping):
        raise errors.InvalidInputError("The body is no JSON object.", remedy="Send an object.")
    return found


def query_of(request: Request) -> dict[str, str]:
    """Raises InvalidInputError for a NUL character, which PostgreSQL cannot store."""
    found = {name: request.query_params[name] for name in request.query_params}
    if any("\x00" in value for value in found.values()):
        raise errors.InvalidInputError("A query parameter must not hold NUL characters.")
    return found
