# SPDX-License-Identifier: Apache-2.0
"""Errors as RFC 9457 problem+json, in one place."""

from __future__ import annotations

import logging
from typing import Any

from django.core.exceptions import PermissionDenied
from django.db import InterfaceError, OperationalError
from django.http import Http404, JsonResponse
from rest_framework import exceptions
from rest_framework.views import set_rollback

from mlhub.core import errors
from mlhub.core.database.refusals import DISK_FULL, code_of, is_of_read_only_database
from mlhub.core.ids import new_id
from mlhub.core.languages.catalogue import in_readers_language

logger = logging.getLogger(__name__)

STATUS: dict[type[errors.DomainError], int] = {
    errors.InvalidQueryError: 400,
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
DATABASE_RETRY_S = 5
DISK_RETRY_S = 60
NOT_FOUND_REMEDY = (
    "It was deleted, or you have no role in its project or organisation: ask who gave you the address for one."
)
Described = tuple[int, dict[str, Any], dict[str, str]]  # status, body, headers


def exception_handler(exception: Exception, context: dict[str, Any]) -> JsonResponse | None:  # noqa: ARG001
    """DRF's hook: domain errors, DRF's own, Django's and a database that is away become problem documents; anything
    else goes on to Django's handler500 (mlhub/core/api/fallbacks.py)."""
    described = describe(exception)
    if described is None:
        return None
    status, body, headers = described
    set_rollback()
    # no Response of DRF's: that would be written in the format that was asked for, such as YAML
    return JsonResponse(body, status=status, headers=headers, content_type=CONTENT_TYPE)


def describe(exception: BaseException | None) -> Described | None:
    """Status, body and headers; None for an unexpected exception."""
    if isinstance(exception, Http404):
        exception = errors.NotFoundError("There is nothing here that you may see.", remedy=NOT_FOUND_REMEDY)
    elif isinstance(exception, PermissionDenied):
        exception = exceptions.PermissionDenied()
    elif isinstance(exception, OperationalError) and code_of(exception) == DISK_FULL:
        logger.error("database.disk_full error=%s", exception)
        exception = errors.UnavailableError(
            "The database's disk is full, so nothing of this was stored.",
            remedy="Try again later; an administrator must make room (`mlhub doctor` says where).",
            retry_after_s=DISK_RETRY_S,
        )
    elif isinstance(exception, OperationalError | InterfaceError):
        logger.warning("database.unavailable error=%s", exception)
        exception = errors.UnavailableError(
            "The database cannot be reached.", remedy="Try again in a moment.", retry_after_s=DATABASE_RETRY_S
        )
    elif is_of_read_only_database(exception):
        logger.warning("database.read_only error=%s", exception)
        exception = errors.UnavailableError(
            "The database takes no changes at the moment.",
            remedy="Try again in a moment; what is stored can be read meanwhile.",
            retry_after_s=DATABASE_RETRY_S,
        )
    if isinstance(exception, errors.DomainError):
        status, body = of_domain_error(exception)
        wait_s = exception.facts.get("retry_after_s")
        return status, body, {} if wait_s is None else {"Retry-After": str(int(wait_s))}
    if isinstance(exception, exceptions.APIException):
        status, body = _of_api_exception(exception)
        return status, body, _headers(exception)
    return None


def of_domain_error(error: errors.DomainError) -> tuple[int, dict[str, Any]]:
    status = next((s for kind, s in STATUS.items() if isinstance(error, kind)), 400)
    body: dict[str, Any] = {
        "type": f"about:blank#{error.code}",
        "title": _title(error.code),
        "status": status,
        "code": error.code,
        "detail": in_readers_language(error.message),
        **error.facts,
    }
    remedy = in_readers_language(error.remedy)
    if remedy:
        body["remedy"] = remedy
    if error.field:
        body["errors"] = [{"field": error.field, "message": body["detail"], "remedy": remedy}]
    return status, body


def problem(
    status: int, code: str, detail: str, *, headers: dict[str, str] | None = None, **facts: Any
) -> JsonResponse:
    """A problem document for plain Django views. facts: further members, such as remedy."""
    body = {"type": f"about:blank#{code}", "title": _title(code), "status": status, "code": code}
    said = in_readers_language(detail)
    if "remedy" in facts:
        facts["remedy"] = in_readers_language(facts["remedy"])
    return JsonResponse({**body, "detail": said, **facts}, status=status, content_type=CONTENT_TYPE, headers=headers)


def problem_of(exception: BaseException) -> JsonResponse:
    """The problem document of a planned error, for plain Django views. Raises ValueError for any other exception."""
    described = describe(exception)
    if described is None:
        raise ValueError(f"{type(exception).__name__} is no planned error") from exception
    status, body, headers = described
    return JsonResponse(body, status=status, content_type=CONTENT_TYPE, headers=headers)


def unexpected_problem(exception: BaseException | None, *, where: str) -> JsonResponse:
    """503 for a planned error with that status; else 500 with an id under which the log has the traceback."""
    if exception is not None and describe(exception) is not None:
        return problem_of(exception)
    error_id = str(new_id())
    logger.error("api.unexpected_error id=%s at=%s", error_id, where, exc_info=exception)
    detail = f"MLHub failed to answer this. The platform's log has the cause under the id {error_id}."
    remedy = "Try again; give your administrator the id if it fails again."
    return problem(500, "internal_error", detail, id=error_id, remedy=remedy)


def _title(code: str) -> str:
    return in_readers_language(code.replace("_", " ").capitalize())


def _of_api_exception(exception: exceptions.APIException) -> tuple[int, dict[str, Any]]:
    status = exception.status_code
    if isinstance(exception, exceptions.ValidationError):
        found = list(_flatten(exception.detail))
        first = found[0] if found else {"field": "", "message": in_readers_language("The input is not valid.")}
        where = f"{first['field']}: " if first["field"] else ""
        return 422, {
            "type": "about:blank#invalid_input",
            "title": _title("invalid_input"),
            "status": 422,
            "code": "invalid_input",
            "detail": where + first["message"],
            "errors": found,
        }
    code = getattr(exception.detail, "code", None) or exception.default_code
    return status, {
        "type": f"about:blank#{code}",
        "title": _title(code),
        "status": status,
        "code": code,
        "detail": in_readers_language(str(exception.detail)),
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
        yield {"field": path, "message": in_readers_language(str(detail))}


def _headers(exception: exceptions.APIException) -> dict[str, str]:
    headers = {}
    if getattr(exception, "auth_header", None):
        headers["WWW-Authenticate"] = exception.auth_header  # type: ignore[attr-defined]
    if getattr(exception, "wait", None):
        headers["Retry-After"] = str(int(exception.wait))  # type: ignore[attr-defined]
    return headers
