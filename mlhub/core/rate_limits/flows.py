# SPDX-License-Identifier: Apache-2.0
"""Whose turn a request takes, before anything was looked up: its organisations as its last request showed them."""

from __future__ import annotations

import hashlib
import threading
from collections import OrderedDict
from typing import TYPE_CHECKING

from django.conf import settings

if TYPE_CHECKING:
    from django.http import HttpRequest

MAX_KNOWN = 10_000
_known: OrderedDict[bytes, str] = OrderedDict()  # by a hash of the credentials
_lock = threading.Lock()


def credentials_of(request: HttpRequest) -> str | None:
    """The token or session that the request claims to have."""
    return request.headers.get("Authorization") or request.COOKIES.get(settings.SESSION_COOKIE_NAME)


def flow_of(request: HttpRequest) -> str:
    """The flow of its credentials. Those that were never accepted share one for each address: anybody can make up as
    many as they like."""
    credentials = credentials_of(request)
    known = _known.get(_key(credentials)) if credentials else None
    return known or f"address {request.META.get('REMOTE_ADDR', '')}"


def remember_flow(request: HttpRequest, flow_id: str) -> None:
    """Called once the request's credentials were accepted."""
    credentials = credentials_of(request)
    if not credentials:
        return
    key = _key(credentials)
    if _known.get(key) == flow_id:
        return
    with _lock:
        _known[key] = flow_id
        if len(_known) > MAX_KNOWN:
            _known.popitem(last=False)


def _key(credentials: str) -> bytes:
    return hashlib.blake2b(credentials.encode(errors="replace"), digest_size=16).digest()
