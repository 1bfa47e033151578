# SPDX-License-Identifier: Apache-2.0
"""The dashboard's page for every address that is not the API's: the browser's router decides what it shows."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.views.decorators.csrf import ensure_csrf_cookie
from django.views.decorators.http import require_safe

NONCE_PLACEHOLDER = "__CSP_NONCE__"  # as in frontend/index.html
NOT_BUILT = """<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><meta name="viewport" content="width=device-width"><title>MLHub</title>
<style nonce="__CSP_NONCE__">
body { font: 1rem/1.5 system-ui, sans-serif; max-width: 40rem; margin: 4rem auto; padding: 0 1rem }
</style></head>
<body>
<h1>The dashboard is not built</h1>
<p>MLHub is running, but its dashboard has not been built on this machine. Run</p>
<pre><code>make frontend</code></pre>
<p>in the folder of the source code, then reload this page.
The REST API works meanwhile: its documentation is at <a href="/api/v1/docs">/api/v1/docs</a>.</p>
</body>
</html>
"""


@ensure_csrf_cookie
@require_safe
def dashboard(request: HttpRequest) -> HttpResponse:
    """index.html, never from a cache, since it names the present build's files; 503 while there is no build.

    The page gets the nonce that its answer's Content-Security-Policy names: only <style> elements with it apply.
    """
    try:
        page, status = (Path(settings.FRONTEND_DIST) / "index.html").read_text(encoding="utf-8"), 200
    except FileNotFoundError:
        page, status = NOT_BUILT, 503
    nonce = str(getattr(request, "csp_nonce"))  # noqa: B009 (django-csp sets it; the type does not know)
    page = page.replace(NONCE_PLACEHOLDER, nonce)
    return HttpResponse(page, status=status, headers={"Cache-Control": "no-cache"})
