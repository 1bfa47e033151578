# SPDX-License-Identifier: Apache-2.0
"""The language of each answer of the API: the one that Accept-Language asks for, else English."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.cache import patch_vary_headers
from django.utils.decorators import sync_and_async_middleware
from django.utils.translation import get_language_from_request, override

from mlhub.core.api.operations import API_PREFIX
from mlhub.core.languages.catalogue import SOURCE_LANGUAGE


@sync_and_async_middleware
def language_middleware(
    get_response: Callable[[HttpRequest], Any],
) -> Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]:
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            language = _language_of(request)
            with override(language):
                return _labelled(request, await get_response(request), language)

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        language = _language_of(request)
        with override(language):
            return _labelled(request, get_response(request), language)

    return answer


def _language_of(request: HttpRequest) -> str:
    return get_language_from_request(request) if request.path.startswith(API_PREFIX) else SOURCE_LANGUAGE


def _labelled(request: HttpRequest, response: HttpResponseBase, language: str) -> HttpResponseBase:
    if request.path.startswith(API_PREFIX):
        patch_vary_headers(response, ("Accept-Language",))
        if language != SOURCE_LANGUAGE:
            response.headers.setdefault("Content-Language", language)
    return response
