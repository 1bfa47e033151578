# SPDX-License-Identifier: Apache-2.0
"""What browsers may do with MLHub's pages, beyond what Django's own middleware sets.

The Content-Security-Policy is a literal that the settings pass to django-csp: everything comes from MLHub itself,
scripts only from files, and <style> elements only with the nonce of their page (the dashboard's components make some).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from asgiref.sync import iscoroutinefunction
from csp.constants import NONCE, NONE, SELF, UNSAFE_INLINE
from django.conf import settings
from django.http import HttpRequest
from django.http.response import HttpResponseBase
from django.utils.decorators import sync_and_async_middleware

CONTENT_SECURITY_POLICY = {
    "DIRECTIVES": {
        "default-src": [SELF],
        "script-src": [SELF],
        "style-src": [SELF, NONCE],
        "img-src": [SELF, "data:"],
        "media-src": [SELF],
        "connect-src": [SELF],
        "object-src": [NONE],
        "base-uri": [NONE],
        "form-action": [SELF],
        "frame-ancestors": [NONE],
    }
}
# Swagger UI writes styles into its page and has no way to give them a nonce; its scripts are files all the same.
API_DOCUMENTATION_POLICY = {"style-src": [SELF, UNSAFE_INLINE]}
UNUSED_FEATURES = ("accelerometer", "camera", "display-capture", "geolocation", "gyroscope", "hid", "magnetometer",
                   "microphone", "midi", "payment", "serial", "usb")  # fmt: skip


def security_headers() -> dict[str, str]:
    """The headers of every answer. HSTS only when the administrator set it, which needs an https address."""
    headers = {
        "Permissions-Policy": ", ".join(f"{feature}=()" for feature in UNUSED_FEATURES),
        "Cross-Origin-Resource-Policy": "same-origin",
    }
    if settings.HSTS_SECONDS:
        headers["Strict-Transport-Security"] = f"max-age={settings.HSTS_SECONDS}"
    return headers


@sync_and_async_middleware
def security_headers_middleware(
    get_response: Callable[[HttpRequest], Any],
) -> Callable[[HttpRequest], HttpResponseBase | Awaitable[HttpResponseBase]]:
    if iscoroutinefunction(get_response):

        async def answer_async(request: HttpRequest) -> HttpResponseBase:
            return _with_headers(await get_response(request))

        return answer_async

    def answer(request: HttpRequest) -> HttpResponseBase:
        return _with_headers(get_response(request))

    return answer


def _with_headers(response: HttpResponseBase) -> HttpResponseBase:
    for name, value in security_headers().items():
        response.headers.setdefault(name, value)
    return response
