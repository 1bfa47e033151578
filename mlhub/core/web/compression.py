# SPDX-License-Identifier: Apache-2.0
"""Compression of the API's answers, where it is safe: whole JSON documents that were asked for by GET, or by a POST
that only reads, whose body has what is too long for an address.

BREACH reads a secret out of the size of compressed answers that hold both the secret and text of the attacker. Answers
to these hold no secret of their own: session and CSRF token are cookies, and an API token is shown once, in the answer
to the POST that makes it, which is never compressed. Django also lengthens each compressed answer by up to 100 random
bytes. Streams are left alone, because compression would hold their frames back, and files, because their parts are
asked for by range.
"""

from __future__ import annotations

from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.middleware.gzip import GZipMiddleware

from mlhub.core.api.operations import API_PREFIX


class CompressedAnswers(GZipMiddleware):
    def process_response(self, request: HttpRequest, response: HttpResponseBase) -> HttpResponseBase:
        """Django's middleware compresses from 200 bytes on, for clients that accept it, and sets Vary."""
        is_json = response.headers.get("Content-Type", "").startswith("application/json")
        is_whole = is_json and not response.streaming and request.path.startswith(API_PREFIX)
        if not (is_whole and _only_reads(request, response)):
            return response
        found: HttpResponseBase = super().process_response(request, response)
        return found


def _only_reads(request: HttpRequest, response: HttpResponseBase) -> bool:
    """Whether a token that may only read is enough for the request."""
    context = getattr(response, "renderer_context", None) or {}
    is_reading_post = request.method == "POST" and getattr(context.get("view"), "required_scope", None) == "read"
    return request.method == "GET" or is_reading_post
