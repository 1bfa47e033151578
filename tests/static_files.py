# SPDX-License-Identifier: Apache-2.0
"""The platform's static files are looked for once in a process of tests.

A test client loads its middleware with its first request, and WhiteNoise looks at each of 400 files then: that was more
than half of the processor time of a test with one request. A folder that a test has for itself is still looked at anew.
"""

from __future__ import annotations

from typing import Any

from django.conf import settings
from whitenoise.middleware import WhiteNoiseMiddleware

_look_in_folder = WhiteNoiseMiddleware.update_files_dictionary
_look_with_finders = WhiteNoiseMiddleware.add_files_from_finders
_found: dict[tuple[str, ...], dict[str, Any]] = {}
_dashboard = str(settings.FRONTEND_DIST)


def _files_of_folder(middleware: WhiteNoiseMiddleware, root: str, prefix: str) -> None:
    if not root.startswith(_dashboard):
        return _look_in_folder(middleware, root, prefix)
    return _once(middleware, (root, prefix), lambda: _look_in_folder(middleware, root, prefix))


def _files_of_finders(middleware: WhiteNoiseMiddleware) -> None:
    _once(middleware, (middleware.static_prefix,), lambda: _look_with_finders(middleware))


def _once(middleware: WhiteNoiseMiddleware, key: tuple[str, ...], look: Any) -> None:
    if key not in _found:
        others, middleware.files = middleware.files, {}
        look()
        _found[key], middleware.files = middleware.files, others
    middleware.files.update(_found[key])


def look_for_static_files_once() -> None:
    """From now on, in this process."""
    WhiteNoiseMiddleware.update_files_dictionary = _files_of_folder
    WhiteNoiseMiddleware.add_files_from_finders = _files_of_finders
