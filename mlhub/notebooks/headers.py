# SPDX-License-Identifier: Apache-2.0
"""Which headers go to a pod and come back: nothing of the platform's goes there, nothing of one hop goes anywhere."""

from __future__ import annotations

from collections.abc import Iterable

from django.conf import settings

from mlhub.storage.streamed_uploads import RawHeaders, Scope
from mlhub.wire.launch import NOTEBOOK_TOKEN_HEADER

HOP_BY_HOP = {
    b"connection", b"keep-alive", b"proxy-authenticate", b"proxy-authorization", b"te", b"trailer",
    b"transfer-encoding", b"upgrade",
}  # fmt: skip
TOKEN = NOTEBOOK_TOKEN_HEADER.lower().encode()
# what Jupyter needs: who asks, and from where, is the platform's to know, whatever proxies call it
FOR_PODS = {
    b"accept", b"accept-encoding", b"accept-language", b"cache-control", b"content-disposition", b"content-encoding",
    b"content-length", b"content-type", b"host", b"if-match", b"if-modified-since", b"if-none-match", b"if-range",
    b"if-unmodified-since", b"origin", b"range", b"referer", b"sec-fetch-dest", b"sec-fetch-mode", b"sec-fetch-site",
    b"user-agent", b"x-requested-with", b"x-xsrftoken",
}  # fmt: skip
NOT_FOR_BROWSERS = HOP_BY_HOP | {b"server", b"date"}  # the web server's own
OF_SOCKETS = {b"host", b"content-length"}


def header_of(scope: Scope, name: bytes) -> str:
    """The value; "" without one, or where there are several."""
    found = [value for key, value in scope["headers"] if key == name]
    return str(found[0].decode("latin-1")) if len(found) == 1 else ""


def cookie_name() -> str:
    """With the prefix, browsers take it from no other host."""
    return "__Host-mlhub_notebook" if settings.NOTEBOOK_ORIGIN.startswith("https:") else "mlhub_notebook"


def cookie_of(scope: Scope) -> str:
    """The value of the notebook's cookie; "" without one."""
    return next((value for name, value in _cookies(scope) if name == cookie_name()), "")


def is_navigation(scope: Scope) -> bool:
    """Whether a person opens a page."""
    mode = header_of(scope, b"sec-fetch-mode")
    return scope["method"] == "GET" and (
        mode == "navigate" or (not mode and "text/html" in header_of(scope, b"accept"))
    )


def headers_for_pod(scope: Scope, *, token: str) -> RawHeaders:
    """Those of the request, with Jupyter's own cookies and the pod's token."""
    kept = [(name, value) for name, value in scope["headers"] if name in FOR_PODS]
    foreign = {cookie_name(), settings.SESSION_COOKIE_NAME, settings.CSRF_COOKIE_NAME}
    own = "; ".join(f"{name}={value}" for name, value in _cookies(scope) if name not in foreign)
    if own:
        kept.append((b"cookie", own.encode("latin-1")))
    return [*kept, (TOKEN, token.encode())]


def headers_for_browser(headers: Iterable[tuple[bytes, bytes]]) -> RawHeaders:
    """Those of the answer, without cookies that would take the place of the notebook's, and without leave for pages of
    other origins, which Jupyter gives to all that has a token."""
    kept: RawHeaders = []
    for name, value in headers:
        key = name.lower()
        is_ours = key == b"set-cookie" and value.split(b"=", 1)[0].strip() == cookie_name().encode()
        if key not in NOT_FOR_BROWSERS and not key.startswith(b"access-control-") and not is_ours:
            kept.append((key, value))
    return kept


def _cookies(scope: Scope) -> list[tuple[str, str]]:
    found = []
    for key, value in scope["headers"]:
        if key == b"cookie":
            parts = (part.strip().partition("=") for part in value.decode("latin-1").split(";"))
            found += [(name, content) for name, _, content in parts if name]
    return found
