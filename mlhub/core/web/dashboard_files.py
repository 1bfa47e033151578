# SPDX-License-Identifier: Apache-2.0
"""The dashboard's files: those of a new build are served at once, without a restart of the web process.

WhiteNoise looks for files once, when the process starts. The page names the files of the present build, so a build
under a running platform left a blank page: none of them was known.
"""

from __future__ import annotations

import os
from pathlib import Path
from threading import Lock
from typing import Any

from django.conf import settings
from django.http import HttpRequest, HttpResponse
from whitenoise.middleware import WhiteNoiseMiddleware

ASSETS = "/assets/"


class StaticFiles(WhiteNoiseMiddleware):
    """As WhiteNoise, but that it looks at the dashboard's folder again once a build has changed it."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._root = Path(settings.FRONTEND_DIST)
        self._lock = Lock()
        self._seen = self._build()  # before the look: what is written meanwhile is another build
        super().__init__(*args, **kwargs)

    def __call__(self, request: HttpRequest) -> HttpResponse:
        if request.path_info.startswith(ASSETS) and self._build() != self._seen:
            self._look_again()
        answer: HttpResponse = super().__call__(request)
        return answer

    def _look_again(self) -> None:
        with self._lock:
            build = self._build()
            if build == self._seen:
                return  # another request did it
            if self._root.is_dir():
                self.add_files(str(self._root))
            for url in [url for url in self.files if url.startswith(ASSETS)]:
                if not (self._root / url[1:]).is_file():
                    del self.files[url]
            self._seen = build

    def _build(self) -> tuple[int, ...]:
        """Other numbers after each build: files are written into the folder, and the page anew."""
        return tuple(_changed_at(path) for path in (self._root / "index.html", self._root / "assets"))


def _changed_at(path: Path) -> int:
    """Nanoseconds; 0 where there is none."""
    try:
        return os.stat(path).st_mtime_ns
    except OSError:
        return 0
