# SPDX-License-Identifier: Apache-2.0
"""Django's ASGI handler, but with one way into a request's thread and back instead of one for each middleware.

Django runs middleware that can be both as coroutines, and each of them then hands the parts that must not block to the
request's thread: some forty changes of thread a request, which cost more than the middleware itself. All views of MLHub
but the event streams are synchronous, so the whole chain runs in that thread. Async views go to the event loop from
there; what a response streams is read outside of the chain, as before.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from asgiref.sync import sync_to_async
from django.core.handlers.asgi import ASGIHandler
from django.core.handlers.base import BaseHandler

if TYPE_CHECKING:
    from django.http import HttpRequest
    from django.http.response import HttpResponseBase


class OneThreadHandler(ASGIHandler):
    def __init__(self) -> None:
        BaseHandler.__init__(self)
        self.load_middleware(is_async=False)

    async def get_response_async(self, request: HttpRequest) -> HttpResponseBase:
        response: HttpResponseBase = await sync_to_async(self.get_response, thread_sensitive=True)(request)
        return response
