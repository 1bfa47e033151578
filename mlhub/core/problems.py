"""Errors as RFC 9457 problem+json, in one place."""

from __future__ import annotations

from typing import Any

from django.core.exceptions import PermissionDenied
from django.http import Http404, JsonResponse
from rest_framework import exceptions
from rest_framework.response import Response
from rest_framework.views import set_rollback

from mlhub.core import errors

STATUS: dict[type[errors.DomainError], int] = {
    errors.InvalidInputError: 422,
    errors.QuotaExceededError: 422,
    errors.NotAllowedError: 403,
    errors.NotFoundError: 404,
    errors.ConflictError: 409,
    errors.GoneError: 410,
    errors.TooLargeError: 413,
    errors.TooManyAttemptsError: 429,
    errors.UnavailableError: 503,
}
CONTENT_TYPE = "application/problem+json"


def exception_handler(exception: Exception, context: dict[str, Any]) -> Response | None:  # noqa: ARG001
    """DRF's hook: domain errors, DRF's own and Django's become problem documents; anything else stays a 500."""
    if isinstance(exception, Http404):
        exception = exceptions.NotFound()
    elif isinstance(exception, PermissionDenied):
        exception = exceptions.PermissionDenied()
    if isinstance(exception, errors.DomainError):
        status, body = of_domain_error(exception)
        wait_s = exception.facts.get("retry_after_s")
        headers = {} if wait_s is None else {"Retry-After": str(int(wait_s))}
    elif isinstance(exception, exceptions.APIException):
        status, body = _of_api_exception(exception)
        headers = _headers(exception)
    else:
        return None
    set_rollback()
    return Response(body, status=status, headers=headers, content_type=CONTENT_TYPE)


def of_domain_error(error: errors.DomainError) -> tuple[int, dict[str, Any]]:
    status = next((s for kind, s in STATUS.items() if isinstance(error, kind)), 400)
    body: dict[str, Any] = {
        "type": f"about:blank#{error.code}",
        "title": error.code.replace("_", " ").capitalize(),
        "status": status,
        "code": error.code,
        "detail": error.message,
        **error.facts,
    }
    if error.remedy:
        body["remedy"] = error.remedy
    if error.field:
        body["errors"] = [{"field": error.field, "message": error.message, "remedy": error.remedy}]
    return status, body


def problem(status: int, code: str, detail: str) -> JsonResponse:
    """A problem document for plain Django views."""
    body = {"type": f"about:blank#{code}", "title": code, "status": status, "code": code, "detail": detail}
    return JsonResponse(body, status=status, content_type=CONTENT_TYPE)


def _of_api_exception(exception: exceptions.APIException) -> tuple[int, dict[str, Any]]:
    status = exception.status_code
    if isinstance(exception, exceptions.ValidationError):
        found = list(_flatten(exception.detail))
        first = found[0] if found else {"field": "", "message": "The input is not valid."}
        where = f"{first['field']}: " if first["field"] else ""
        return 422, {
            "type": "about:blank#invalid_input",
            "title": "Invalid input",
            "status": 422,
            "code": "invalid_input",
            "detail": where + first["message"],
            "errors": found,
        }
    code = getattr(exception.detail, "code", None) or exception.default_code
    return status, {
        "type": f"about:blank#{code}",
        "title": str(exception.default_detail),
        "status": status,
        "code": code,
        "detail": str(exception.detail),
    }


def _flatten(detail: Any, path: str = "") -> Any:
    if isinstance(detail, dict):
        for key, value in detail.items():
            name = "" if key == "non_field_errors" else str(key)
            yield from _flatten(value, f"{path}.{name}" if path and name else path or name)
    elif isinstance(detail, list):
        for index, value in enumerate(detail):
            yield from _flatten(value, f"{path}.{index}" if isinstance(value, dict) else path)
    else:
        yield {"field": path, "message": str(detail)}


def _headers(exception: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if getattr(exception, "auth_header", None):
        headers["WWW-Authenticate"] = exception.auth_header  # type: ignore[attr-defined]
    if getattr(exception, "wait", None):
        headers["Retry-After"] = str(int(exception.wait))  # type: ignore[attr-defined]
    return headers
