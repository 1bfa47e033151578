# SPDX-License-Identifier: Apache-2.0
"""What every request below /api/ must keep, whichever view answers: known query parameters, no NUL, no unasked body."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from django.conf import settings
from django.http import HttpResponse
from django.utils.deprecation import MiddlewareMixin
from rest_framework.exceptions import ParseError

from mlhub.core.api.operations import API_PREFIX, operation_of
from mlhub.core.api.parsers import body_too_large, parse_json
from mlhub.core.api.strict import shown, unknown_name
from mlhub.core.errors import DomainError, InvalidInputError, InvalidQueryError
from mlhub.core.problems import problem, problem_of

if TYPE_CHECKING:
    from django.http import HttpRequest

    from mlhub.core.api.operations import ApiOperation


class StrictRequests(MiddlewareMixin):
    """Refuses requests that name what their route does not declare, before the view is called."""

    def process_view(
        self,
        request: HttpRequest,
        view: Any,
        args: Any,  # noqa: ARG002 (Django's signature)
        kwargs: dict[str, Any],
    ) -> HttpResponse | None:
        if not request.path.startswith(API_PREFIX):
            return None
        if any("\x00" in str(value) for value in kwargs.values()):
            return problem(404, "not_found", "The address holds a NUL character.")
        if not request.META.get("QUERY_STRING") and not _body_bytes(request):
            return None
        match = request.resolver_match
        operation = operation_of(view, match.route, request.method or "GET") if match else None
        if operation is None:
            return None  # the view answers 405
        try:
            _check_query(request, operation)
            if not operation.has_body:
                _check_no_body(request)
        except (DomainError, ParseError) as error:
            return problem_of(error)
        return None


def _check_query(request: HttpRequest, operation: ApiOperation) -> None:
    for name, values in request.GET.lists():
        if name not in operation.query_names:
            raise InvalidQueryError(unknown_name("query parameter", name, operation.query_names), field=shown(name))
        if any("\x00" in value for value in values):
            raise InvalidQueryError("A query parameter must not hold NUL characters.", field=name)


def _check_no_body(request: HttpRequest) -> None:
    """Raises InvalidInputError for a body where none is declared; an empty JSON object passes."""
    size = _body_bytes(request)
    if size > settings.MAX_JSON_BYTES:
        raise body_too_large(settings.MAX_JSON_BYTES)
    if not size or not request.body.strip():
        return
    found = parse_json(request.body) if request.content_type == "application/json" else None
    if found == {}:
        return
    first = next(iter(found)) if isinstance(found, dict) else None
    raise InvalidInputError(
        "This request takes no body." if first is None else unknown_name("field", first, ()),
        field=None if first is None else shown(first),
        remedy="Send it without a body.",
    )


def _body_bytes(request: HttpRequest) -> int:
    length = request.META.get("CONTENT_LENGTH") or ""
    return int(length) if length.isdecimal() and len(length) < 20 else 0
